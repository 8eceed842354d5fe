// node run_onnx.js FOLDER MODEL PIXELS COUNT CHANNELS HEIGHT WIDTH: logits of raw float32 pixels as JSON, by ONNX Runtime.
// FOLDER holds node_modules with onnxruntime-node.
const fs = require('fs');
const path = require('path');
const [folder, model, pixels, ...sizes] = process.argv.slice(2);
const runtime = require(path.join(folder, 'node_modules', 'onnxruntime-node'));

async function main() {
  const session = await runtime.InferenceSession.create(model);
  const bytes = fs.readFileSync(pixels);
  const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const results = await session.run({pixels: new runtime.Tensor('float32', values, sizes.map(Number))});
  print(JSON.stringify(Array.from(results.logits.data)));
  // The destructors of ONNX Runtime's globals race with its threads when node exits, which now and then is a segmentation
  // fault after all the work is done: end without them.
  process.kill(process.pid, 'SIGKILL');
}

function print(text) {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) written += fs.writeSync(1, bytes, written);
}
main();
