#include <gtest/gtest.h>

#include <string>

#include "cluster/scenarios.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--as-rank") return nascent::cluster::run_scenario(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
