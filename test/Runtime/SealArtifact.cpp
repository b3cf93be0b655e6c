// Turns a linked shared object whose last segment is the weights into an artifact: cuts what follows the weights and appends
// hashes and trailer. Usage: seal_artifact in.so out.so
#include "mopt/Runtime/mopt_abi.h"
#define XXH_INLINE_ALL
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <vector>
#include <xxhash.h>

static void hash(const void *p, size_t n, uint64_t out[2]) {
  XXH128_hash_t h = XXH3_128bits(p, n);
  out[0] = h.low64, out[1] = h.high64;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  std::ifstream in(argv[1], std::ios::binary);
  std::vector<char> file((std::istreambuf_iterator<char>(in)), {});
  if (file.size() < sizeof(Elf64_Ehdr))
    return 2;
  auto *e = reinterpret_cast<Elf64_Ehdr *>(file.data());
  auto *p = reinterpret_cast<Elf64_Phdr *>(file.data() + e->e_phoff);
  mopt_trailer t = {};
  for (int i = 0; i < e->e_phnum; ++i)
    if (p[i].p_type == PT_LOAD && p[i].p_offset >= t.weights_offset)
      t.weights_offset = p[i].p_offset, t.weights_bytes = p[i].p_filesz;
  e->e_shoff = 0, e->e_shnum = 0, e->e_shstrndx = 0; // section headers follow the weights: not loaded, not needed
  file.resize(t.weights_offset + t.weights_bytes);
  std::vector<uint64_t> hashes;
  for (uint64_t at = 0; at < t.weights_bytes; at += MOPT_WEIGHT_CHUNK) {
    uint64_t h[2];
    hash(file.data() + t.weights_offset + at, std::min<uint64_t>(MOPT_WEIGHT_CHUNK, t.weights_bytes - at), h);
    hashes.insert(hashes.end(), h, h + 2);
  }
  t.magic = MOPT_TRAILER_MAGIC;
  t.abi_version = MOPT_ABI_VERSION;
  t.file_bytes = file.size() + hashes.size() * 8 + sizeof t;
  hash(file.data(), t.weights_offset, t.code_hash);
  hash(hashes.data(), hashes.size() * 8, t.hashes_hash);
  std::ofstream out(argv[2], std::ios::binary);
  out.write(file.data(), static_cast<std::streamsize>(file.size()));
  out.write(reinterpret_cast<char *>(hashes.data()), static_cast<std::streamsize>(hashes.size() * 8));
  out.write(reinterpret_cast<char *>(&t), sizeof t);
  return out.good() ? 0 : 1;
}
