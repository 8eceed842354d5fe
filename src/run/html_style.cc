#include "nascent/run/html.h"

namespace nascent::html {

std::string_view style_sheet() {
  return R"css(:root {
  color-scheme: light dark;
  --page: #fbfbfc; --card: #ffffff; --ink: #1c2128; --soft: #5b6472; --rule: #e1e4e9; --tint: #f1f3f6;
  --axis: #6b7482; --grid: #e6e9ee; --accent: #2458c5; --mark: #fff4d6;
  --good: #1b7f4b; --warn: #9a5b00; --bad: #b3261e; --input: #d5e8d4; --node: #dae8fc; --output: #fff2cc;
  --c0: #2f6bd8; --c1: #e0701a; --c2: #1f9a5a; --c3: #cf2f3f; --c4: #8350c4;
  --c5: #8a6036; --c6: #d64f9f; --c7: #69717f; --c8: #9a9b14; --c9: #12a0b4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171c; --card: #1b1f26; --ink: #e6e9ee; --soft: #9aa4b2; --rule: #2e343d; --tint: #232830;
    --axis: #8f99a8; --grid: #2c323b; --accent: #8ab0ff; --mark: #3a3115;
    --good: #5fd39a; --warn: #f0b95a; --bad: #ff8f88; --input: #24402f; --node: #22364f; --output: #453b18;
    --c0: #79a6ff; --c1: #ffa45c; --c2: #5fd18f; --c3: #ff7a80; --c4: #bf9aff;
    --c5: #cda37a; --c6: #ff92cc; --c7: #aab2bf; --c8: #d5d65c; --c9: #5ad3e4;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.5;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 0 0 14px; }
h3 { font-size: 1rem; margin: 22px 0 10px; }
p { margin: 0 0 12px; }
section { margin-top: 44px; }
.eyebrow { color: var(--soft); margin-bottom: 6px; }
.status { font-weight: 600; }
.status.done { color: var(--good); } .status.running { color: var(--accent); }
.status.interrupted { color: var(--warn); } .status.failed { color: var(--bad); }
.facts { color: var(--soft); display: flex; flex-wrap: wrap; gap: 2px 22px; margin: 6px 0 0; }
.facts b { color: var(--ink); font-weight: 600; }
.notice { border-left: 3px solid var(--warn); background: var(--tint); padding: 10px 14px; margin: 20px 0 0;
  overflow-wrap: anywhere; }
.notice.failed { border-color: var(--bad); } .notice.running { border-color: var(--accent); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 1px; margin: 24px 0 0;
  background: var(--card); border: 1px solid var(--rule); border-radius: 10px; overflow: hidden; }
.tiles div { box-shadow: 0 0 0 1px var(--rule); padding: 14px 18px; }
.tiles dt { color: var(--soft); font-size: 0.85rem; }
.tiles dd { margin: 0; font-size: 1.6rem; font-weight: 600; letter-spacing: -0.01em; font-variant-numeric: tabular-nums; }
.tiles small { display: block; color: var(--soft); font-size: 0.8rem; font-weight: 400; letter-spacing: 0; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 320px), 1fr)); gap: 16px; }
.sites { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 10px; }
figure { margin: 0; background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 12px 14px 8px;
  break-inside: avoid; min-width: 0; }
.sites figure { padding: 8px 8px 4px; border-radius: 8px; }
figure svg { display: block; width: 100%; height: auto; }
figcaption { font-weight: 600; margin-bottom: 6px; display: flex; flex-wrap: wrap; gap: 0 12px; align-items: baseline; }
figcaption .by { color: var(--soft); font-weight: 400; font-size: 0.85rem; }
.sites figcaption { font-size: 0.85rem; margin-bottom: 2px; gap: 0 6px; overflow-wrap: anywhere; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 0.85rem; color: var(--soft); font-weight: 400; }
p.legend { margin: 4px 0 6px; }
.legend i { display: inline-block; width: 16px; height: 3px; border-radius: 2px; margin-right: 6px;
  vertical-align: middle; }
.legend i.dashed { -webkit-mask: repeating-linear-gradient(90deg, #000 0 4px, transparent 4px 6px);
  mask: repeating-linear-gradient(90deg, #000 0 4px, transparent 4px 6px); }
.cells { overflow-x: auto; background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 16px; }
.cells svg { display: block; margin: 0 auto 12px; max-width: 100%; height: auto; min-width: min(100%, 560px); }
.cells text:not([fill]) { fill: var(--ink); }
.picture { max-width: 820px; margin-bottom: 16px; overflow-x: auto; }
.samples { display: flex; flex-wrap: wrap; gap: 6px; }
.samples img { border-radius: 4px; image-rendering: auto; }
.samples .mistake { width: 136px; margin: 0; }
.mistake figcaption { font-size: 0.85rem; display: block; }
.copyable { position: relative; }
.copyable pre { padding-right: 84px; }
.copy { position: absolute; top: 6px; right: 6px; font: inherit; font-size: 0.8rem; color: var(--ink); cursor: pointer;
  background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: 2px 10px; }
.stage { position: relative; width: 100%; }
.stage canvas { display: block; touch-action: pan-y; cursor: crosshair; }
figure.live > svg, canvas[data-grid] { display: none; }
figure.live > canvas[data-grid] { display: block; width: 100%; touch-action: pan-y; cursor: grab; }
.tip { position: absolute; top: 8px; z-index: 9; pointer-events: none; background: var(--card); border-radius: 6px;
  border: 1px solid var(--rule); padding: 5px 9px; font-size: 0.8rem; box-shadow: 0 2px 8px #0003; max-width: 260px;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; width: max-content; }
.tip[hidden] { display: none; }
.tip i { display: inline-block; width: 9px; height: 9px; border-radius: 2px; margin-right: 6px; }
.controls { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 18px; margin: 0 0 12px; font-size: 0.9rem; }
.controls label { display: inline-flex; align-items: center; gap: 6px; }
.controls input[type=range] { width: 130px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.options { margin: 0; }
.options > div { display: grid; grid-template-columns: minmax(0, 15em) minmax(0, 13em) minmax(0, 1fr); gap: 0 16px;
  padding: 6px 8px; border-bottom: 1px solid var(--rule); font-size: 0.9rem; }
.options dt, .options dd { margin: 0; overflow-wrap: anywhere; }
.options dd small { display: block; color: var(--soft); }
.options .changed { background: var(--mark); box-shadow: inset 3px 0 var(--warn); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; width: 100%; }
th, td { text-align: left; padding: 6px 14px 6px 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
th { color: var(--soft); font-weight: 500; white-space: nowrap; }
td { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
td:first-child:nth-last-child(2) { width: 18em; }
.wide td { min-width: 3.5em; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; font-size: 0.86em; }
pre { background: var(--tint); border-radius: 8px; padding: 12px 14px; overflow-x: auto; margin: 8px 0 14px;
  line-height: 1.45; }
details { border-top: 1px solid var(--rule); padding: 8px 0; }
details:last-of-type { border-bottom: 1px solid var(--rule); }
summary { cursor: pointer; font-weight: 500; }
.panels + p, .wide + p { margin-top: 12px; }
.panels + details, .sites + details, .wide + details { margin-top: 14px; }
details[open] > summary { margin-bottom: 10px; }
.soft, footer { color: var(--soft); font-size: 0.9rem; }
footer { margin-top: 44px; border-top: 1px solid var(--rule); padding-top: 14px; overflow-wrap: anywhere; }
@media (max-width: 600px) {
  main { padding: 24px 16px 40px; }
  h1 { font-size: 1.5rem; }
  .tiles { grid-template-columns: 1fr 1fr; }
  .tiles dd { font-size: 1.3rem; }
  .sites { grid-template-columns: 1fr 1fr; }
  .cells { padding: 10px; }
  .cells svg { min-width: 540px; max-width: none; margin: 0 0 12px; }
  .picture svg { min-width: 620px; }
  td:first-child:nth-last-child(2) { width: 58%; }
  .options > div { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
  .options .meaning { grid-column: 1 / -1; }
}
@media print {
  :root { --page: #fff; --card: #fff; }
  body { font-size: 11pt; }
  main { max-width: none; padding: 0; }
  section { margin-top: 24pt; }
  h2, h3, figcaption { break-after: avoid; }
  pre { white-space: pre-wrap; }
  .copy, .tip, .controls, .stage { display: none; }
  figure.live > svg { display: block; }
}
)css";
}

}  // namespace nascent::html
