#include "nascent/run/journal_mode.h"

#include <sys/vfs.h>

#include <algorithm>
#include <array>

namespace nascent {

JournalMode journal_mode_of(uint64_t file_system) {
  constexpr std::array<uint64_t, 11> kNetwork = {
      0x6969,                  // NFS
      0x517b,                  // SMB
      0xfe534d42, 0xff534d42,  // SMB 2, CIFS
      0x0bd00bd0,              // Lustre
      0x47504653,              // GPFS
      0x00c36400,              // Ceph
      0x01161970,              // GFS 2
      0x19830326,              // BeeGFS
      0x5346414f,              // AFS
      0x65735546,              // FUSE: sshfs, GlusterFS and others; which one cannot be told
  };
  const bool network = std::find(kNetwork.begin(), kNetwork.end(), file_system) != kNetwork.end();
  return network ? JournalMode::rollback : JournalMode::write_ahead;
}

JournalMode journal_mode_in(const std::filesystem::path& folder) {
  struct statfs facts = {};
  if (::statfs(folder.empty() ? "." : folder.c_str(), &facts) != 0) return JournalMode::write_ahead;
  return journal_mode_of(static_cast<uint32_t>(facts.f_type));  // the type is 32 bits wide, and signed in places
}

}  // namespace nascent
