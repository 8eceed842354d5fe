// `nascent serve`: a live page of the runs in a folder.
//
//   PageServer server({.folder = "runs"});
//   std::cout << server.address();   // http://127.0.0.1:8421/?token=...
#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "nascent/core/options.h"

namespace nascent {

struct ServeOptions {
  std::string folder = "runs";
  std::string host = "127.0.0.1";
  int port = 8421;
  std::vector<std::string> allow_hosts{};
  void declare(OptionTable& table);
};

class PageServer {
 public:
  // Answers from now on, while it looks at the runs for the first time, in a thread of its own, until it is destroyed.
  // An Error where the folder is missing, the port is taken, or an address beyond this machine is asked for without
  // saying under which names.
  explicit PageServer(const ServeOptions& options);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  std::string address() const;  // with the token
  uint16_t port() const;
  const std::string& token() const;
  size_t runs() const;  // that there were at the start; waits until they have been looked at

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string host_;
  std::shared_future<size_t> runs_;  // goes before the parts that it looks at
};

}  // namespace nascent
