// A pickle as CIFAR's batches have it, made by hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nascent {

inline std::string little_endian_text(uint64_t value, int width) {
  std::string text;
  for (int i = 0; i < width; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// Planar pixels of CIFAR image `number`: each byte tells channel, position and image apart.
inline std::string cifar_planes(int number) {
  std::string planes(3072, '\0');
  for (int i = 0; i < 3072; ++i) planes[i] = static_cast<char>((i * 7 + i / 1024 * 50 + number * 13) % 256);
  return planes;
}

inline std::string pickle_short_text(const std::string& text) {
  return std::string("U").append(little_endian_text(text.size(), 1)).append(text);
}

// A dict of "data" (numpy array of N x 3072 bytes) and labels, as Python 2 pickled CIFAR's batches in protocol 2.
inline std::string cifar_pickle(const std::vector<int>& labels, const std::string& label_key, const std::string& rows,
                                bool fortran = false) {
  std::string text = "\x80\x02}(" + pickle_short_text("data");
  text += "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK";
  text += std::string(1, '\0') + "\x85" + pickle_short_text("b") + "\x87R(K\x01M";
  text += little_endian_text(labels.size(), 2) + "M" + little_endian_text(3072, 2) + "\x86";
  text += "cnumpy\ndtype\n" + pickle_short_text("u1") + "K" + std::string(1, '\0') + "K\x01\x87R";
  text += "(K\x03" + pickle_short_text("|") + "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK" + std::string(1, '\0') + "tb";
  text += fortran ? "\x88" : "\x89";
  text += 'T';
  text += little_endian_text(rows.size(), 4) + rows + "tb" + pickle_short_text(label_key) + "](";
  for (const int label : labels) text.append("K").append(little_endian_text(label, 1));
  return text + "eu.";
}

}  // namespace nascent
