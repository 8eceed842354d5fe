// How ranks begin something together: rank 0 says what, the others make ready for it, or say why they cannot. Used
// within this room alone.
#pragma once

#include <functional>
#include <string>

#include "nascent/core/options.h"

namespace nascent::cluster {

class Member;

// On rank 0: returns when all others are ready. An Error where one is not, or where what it works on is not what has
// this digest.
void open_on_all(Member& member, const Json& order, const std::string& digest);

// On the others: `make_ready` returns the digest of what this rank works on. False where it has failed, which rank 0 is
// told.
bool answer_opening(Member& member, const std::function<std::string()>& make_ready);

}  // namespace nascent::cluster
