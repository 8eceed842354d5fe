#include "nascent/cluster/opening.h"

#include "nascent/cluster/member.h"
#include "nascent/core/error.h"

namespace nascent::cluster {

void open_on_all(Member& member, const Json& order, const std::string& digest) {
  member.send_all(kOpen, order.dump());
  for (int others = member.size() - 1; others > 0; --others) {
    const Message message = member.wait({kOpened});
    const Json opened = Json::parse(message.bytes);
    const auto host = opened.at("host").get<std::string>();
    if (opened.contains("error")) {
      throw Error(told_by(message.from, host, opened.at("error").get<std::string>()));
    }
    if (opened.at("digest") == digest) continue;
    fail("{} Give all ranks the same files.", told_by(message.from, host, "the data there are not those of rank 0."));
  }
}

bool answer_opening(Member& member, const std::function<std::string()>& make_ready) {
  Json answer = {{"host", host_name()}};
  try {
    answer["digest"] = make_ready();
  } catch (const std::exception& error) {
    answer["error"] = error.what();
  }
  member.send(0, kOpened, answer.dump());
  return !answer.contains("error");
}

}  // namespace nascent::cluster
