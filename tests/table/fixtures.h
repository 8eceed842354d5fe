// A folder of its own for each test of tables, and small tables to look things up in.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/table/benchmark_table.h"
#include "nascent/table/table_builder.h"

namespace nascent {

class TableTest : public testing::Test {
 protected:
  TableTest() {
    std::string name = (std::filesystem::temp_directory_path() / "nascent-table-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
  }
  ~TableTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string file(const std::string& name, const std::string& text) const {
    write_file(path(name), text);
    return path(name);
  }

  // The folder of real data, or a loud skip.
  static std::string real_data() {
    const char* folder = std::getenv("NASCENT_DATA");
    return folder == nullptr ? "" : folder;
  }

  // NAS-Bench-201 with made-up results that are easy to reason about: validation is `quality` of the space's index.
  template <class Quality>
  BenchmarkTable made_up(Quality quality) const {
    TableBuilder builder(find_space("nasbench201"), "made up");
    for (double i = 0; i < builder.space().count(); ++i) {
      const size_t row = builder.add(builder.space().at(i), -1);
      const double accuracy = quality(builder.space().at(i));
      builder.set(row, {.data = "toy", .quantity = "valid", .budget = Budget(4, 12)}, accuracy / 2);
      builder.set(row, {.data = "toy", .quantity = "valid", .budget = Budget(12)}, accuracy);
      builder.set(row, {.data = "toy", .quantity = "test", .budget = Budget(12)}, accuracy);
      builder.set(row, {.data = "toy", .quantity = "train_seconds", .budget = Budget(12)}, 120);
    }
    builder.write(path("made-up.table"));
    return BenchmarkTable(path("made-up.table"));
  }

 private:
  std::filesystem::path folder_;
};

// The text of the Error that a call throws.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

inline Genotype nb201(const std::string& text) { return parse_genotype(text, "nasbench201"); }

}  // namespace nascent
