//===- Link.cpp - from an object to the code part of an artifact --------------------------------------------------===//
//
// lld runs in process on memory files. The weights are a section without bytes, laid out last; the program header is then
// patched to say that their bytes follow at the end of the file. So they pass neither LLVM nor the linker: 3 GiB cost what
// 3 KiB cost (2 ms), and nothing has to fit into memory twice.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "lld/Common/Driver.h"
#include "mopt/Package/Package.h"
#include "mopt/Support/Checked.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/raw_ostream.h"
#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;
using object::ELF64LE;
using object::ELF64LEFile;

namespace mopt {
namespace {

bool fail(std::string &error, const char *code, const Twine &text) {
  error = (Twine(code) + ": internal error: " + text).str();
  return false;
}

/// A file without a name, that a path nevertheless names.
class MemoryFile {
public:
  explicit MemoryFile(const char *name) : fd(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd >= 0)
      close(fd);
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  bool write(StringRef bytes) {
    while (fd >= 0 && !bytes.empty()) {
      ssize_t n = ::write(fd, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return false;
      bytes = bytes.drop_front(n);
    }
    return fd >= 0;
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }

private:
  int fd;
};

/// Receives what is written to a path. lld would write a regular file beside its final place and rename it, which a memory
/// file does not have; into a pipe it writes directly. The thread is needed because a pipe holds only 64 KiB.
class Receiver {
public:
  explicit Receiver(SmallVectorImpl<char> &bytes) : bytes(bytes) {
    if (pipe2(ends, O_CLOEXEC) != 0)
      ends[0] = ends[1] = -1;
    else
      running =
          pthread_create(
              &thread, nullptr, [](void *self) -> void * { return static_cast<Receiver *>(self)->receive(); }, this) == 0;
  }
  ~Receiver() { finish(); }
  Receiver(const Receiver &) = delete;
  Receiver &operator=(const Receiver &) = delete;
  bool ok() const { return running; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(ends[1]); }
  /// Returns when the writer has closed.
  bool finish() {
    if (ends[1] >= 0)
      close(std::exchange(ends[1], -1));
    if (std::exchange(running, false))
      pthread_join(thread, nullptr);
    if (ends[0] >= 0)
      close(std::exchange(ends[0], -1));
    return complete;
  }

private:
  void *receive() {
    for (;;) {
      size_t size = bytes.size();
      bytes.resize_for_overwrite(size + (64 << 10));
      ssize_t n = ::read(ends[0], bytes.data() + size, 64 << 10);
      bytes.truncate(size + std::max<ssize_t>(n, 0));
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0) {
        complete = n == 0;
        return nullptr;
      }
    }
  }
  SmallVectorImpl<char> &bytes;
  int ends[2];
  pthread_t thread;
  bool running = false, complete = false;
};

/// Layout by name, so that it does not depend on lld's defaults. Sections that nothing here names are an error.
std::string linkerScript(uint64_t page, uint64_t weightBytes) {
  std::string text;
  raw_string_ostream os(text);
  os << "PHDRS { ro PT_LOAD FILEHDR PHDRS FLAGS(4); tx PT_LOAD FLAGS(5); rw PT_LOAD FLAGS(6);"
     << (weightBytes ? " w PT_LOAD FLAGS(4);" : "")
     << " dyn PT_DYNAMIC; relro PT_GNU_RELRO FLAGS(4); stack PT_GNU_STACK FLAGS(6); }\n"
     << "SECTIONS {\n . = SIZEOF_HEADERS;\n"
     << " .dynsym : { *(.dynsym) } :ro\n .gnu.hash : { *(.gnu.hash) } :ro\n .hash : { *(.hash) } :ro\n"
     << " .dynstr : { *(.dynstr) } :ro\n .rela.dyn : { *(.rela.dyn .rela.plt) } :ro\n"
     << " .rodata : { *(.rodata .rodata.*) } :ro\n . = ALIGN(" << page << ");\n"
     << " .text : { *(.text .text.*) } :tx\n . = ALIGN(" << page
     << ");\n"
     // Writable: glibc before 2.35 stores addresses into it.
     << " .dynamic : { *(.dynamic) } :rw :dyn :relro\n . = ALIGN(" << page << ");\n";
  if (weightBytes)
    os << " .mopt.weights (TYPE=SHT_NOBITS) : { HIDDEN(mopt_weights = .); . += " << weightBytes << "; } :w\n";
  os << " .symtab 0 : { *(.symtab) }\n .strtab 0 : { *(.strtab) }\n .shstrtab 0 : { *(.shstrtab) }\n"
     << " /DISCARD/ : { *(.comment .eh_frame .note.GNU-stack .note.gnu.property .llvm_addrsig .relro_padding"
     << " .ARM.attributes .aarch64.build.attributes) }\n}\n";
  return text;
}

bool runLinker(ArrayRef<char> object, StringRef script, const TargetSpec &target, bool symbols, SmallVectorImpl<char> &code,
               std::string &error) {
  MemoryFile in("object"), layout("layout");
  Receiver out(code);
  if (!out.ok() || !in.write({object.data(), object.size()}) || !layout.write(script))
    return fail(error, "MOPT-P111", Twine("no memory for the linker's files: ") + strerror(errno));
  std::string inPath = in.path(), layoutPath = layout.path(), outPath = out.path();
  std::string maxPage = "max-page-size=" + std::to_string(target.pageBytes);
  std::string commonPage = "common-page-size=" + std::to_string(target.pageBytes);
  std::vector<const char *> args{"ld.lld",
                                 "-shared",
                                 "-o",
                                 outPath.c_str(),
                                 inPath.c_str(),
                                 "-T",
                                 layoutPath.c_str(),
                                 "-z",
                                 maxPage.c_str(),
                                 "-z",
                                 commonPage.c_str(),
                                 "-z",
                                 "noexecstack",
                                 "--no-undefined",
                                 "--hash-style=both", // old loaders and musl know only one of them
                                 "--build-id=none",
                                 "-Bsymbolic",
                                 "--orphan-handling=error",
                                 "--threads=1"};
  if (!symbols)
    args.push_back("--strip-all");
  // lld has global state. Note that it sets every cl::opt of the process back to its default.
  static std::mutex mutex;
  static bool usable = true;
  std::lock_guard<std::mutex> lock(mutex);
  if (!usable)
    return fail(error, "MOPT-P111", "the linker failed before and cannot run again in this process");
  std::string text;
  raw_string_ostream os(text);
  lld::Result result = lld::lldMain(args, os, os, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode != 0 || !out.finish() || code.empty())
    return fail(error, "MOPT-P111", "the linker failed: " + StringRef(text).take_front(2000).rtrim());
  return true;
}

/// Loading must need nothing but mapping: no relocations, libraries or constructors, and one exported name.
bool checkDynamic(const ELF64LEFile &elf, std::string &error) {
  auto entries = elf.dynamicEntries();
  if (!entries)
    return fail(error, "MOPT-P112", toString(entries.takeError()));
  for (const ELF64LE::Dyn &entry : *entries)
    switch (entry.d_tag) {
    case ELF::DT_NULL:
    case ELF::DT_SYMTAB:
    case ELF::DT_SYMENT:
    case ELF::DT_STRTAB:
    case ELF::DT_STRSZ:
    case ELF::DT_HASH:
    case ELF::DT_GNU_HASH:
    case ELF::DT_FLAGS:
    case ELF::DT_FLAGS_1:
    case ELF::DT_SYMBOLIC:
      break;
    default:
      return fail(error, "MOPT-P112", "the artifact has a dynamic entry " + elf.getDynamicTagAsString(entry.d_tag));
    }
  auto sections = elf.sections();
  if (!sections)
    return fail(error, "MOPT-P112", toString(sections.takeError()));
  for (const ELF64LE::Shdr &section : *sections) {
    if (section.sh_type != ELF::SHT_DYNSYM)
      continue;
    auto symbols = elf.symbols(&section);
    auto names = elf.getStringTableForSymtab(section);
    if (!symbols || !names) {
      consumeError(symbols.takeError());
      consumeError(names.takeError());
      return fail(error, "MOPT-P112", "the artifact's symbols cannot be read");
    }
    for (const ELF64LE::Sym &symbol : symbols->drop_front()) {
      auto name = symbol.getName(*names);
      if (!name || *name != "mopt_module" || symbol.st_shndx == ELF::SHN_UNDEF)
        return fail(error, "MOPT-P112",
                    "the artifact has the dynamic symbol " + (name ? *name : StringRef(toString(name.takeError()))));
    }
  }
  return true;
}

/// Lets the section of the weights and its segment refer to the bytes that will follow at the end of the file.
bool placeWeights(SmallVectorImpl<char> &code, uint64_t page, uint64_t weightBytes, std::string &error) {
  auto offset = checked::alignUp<uint64_t>(code.size(), page);
  code.resize(*offset, 0);
  auto elf = ELF64LEFile::create({code.data(), code.size()});
  if (!elf)
    return fail(error, "MOPT-P112", toString(elf.takeError()));
  auto sections = elf->sections();
  auto headers = elf->program_headers();
  if (!sections || !headers) {
    consumeError(sections.takeError());
    consumeError(headers.takeError());
    return fail(error, "MOPT-P112", "the linked code has no headers");
  }
  // The views point into `code`, which is ours to change.
  ELF64LE::Shdr *weights = nullptr;
  for (const ELF64LE::Shdr &section : *sections) {
    auto name = elf->getSectionName(section);
    if (name && *name == ".mopt.weights")
      weights = const_cast<ELF64LE::Shdr *>(&section);
    consumeError(name.takeError());
  }
  if (!weights || weights->sh_type != ELF::SHT_NOBITS || weights->sh_size != weightBytes || weights->sh_addr % page)
    return fail(error, "MOPT-P112", "the section of the weights is not as laid out");
  ELF64LE::Phdr *segment = nullptr;
  for (const ELF64LE::Phdr &header : *headers) {
    if (header.p_type != ELF::PT_LOAD)
      continue;
    if (header.p_vaddr == weights->sh_addr)
      segment = const_cast<ELF64LE::Phdr *>(&header);
    else if (header.p_vaddr > weights->sh_addr)
      return fail(error, "MOPT-P112", "the weights are not the last segment");
  }
  if (!segment || segment->p_filesz != 0 || segment->p_memsz != weightBytes)
    return fail(error, "MOPT-P112", "the segment of the weights is not as laid out");
  segment->p_offset = *offset;
  segment->p_filesz = weightBytes;
  segment->p_flags = ELF::PF_R;
  segment->p_align = page;
  weights->sh_type = ELF::SHT_PROGBITS;
  weights->sh_offset = *offset;
  weights->sh_flags = ELF::SHF_ALLOC;
  weights->sh_addralign = page;
  return true;
}

} // namespace

bool linkCode(ArrayRef<char> object, const TargetSpec &target, uint64_t weightBytes, bool symbols,
              SmallVectorImpl<char> &code, std::string &error) {
  if (!runLinker(object, linkerScript(target.pageBytes, weightBytes), target, symbols, code, error))
    return false;
  auto elf = ELF64LEFile::create({code.data(), code.size()});
  if (!elf)
    return fail(error, "MOPT-P112", toString(elf.takeError()));
  if (elf->getHeader().e_machine != target.machine || elf->getHeader().e_type != ELF::ET_DYN)
    return fail(error, "MOPT-P112", "the linker made a file for another machine");
  if (!checkDynamic(*elf, error))
    return false;
  return !weightBytes || placeWeights(code, target.pageBytes, weightBytes, error);
}

} // namespace mopt
