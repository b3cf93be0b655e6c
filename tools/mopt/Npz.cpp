#include "Npz.h"
#include <algorithm>
#include <cstring>
#include <zip.h>

namespace mopt::tool {
namespace {

constexpr size_t MaxHeader = 64 << 10; // of one .npy
constexpr uint64_t MaxRatio = 1100;    // deflate cannot do better: anything above is a lie about the size
constexpr uint64_t MaxArray = 1ull << 40;

struct Kind {
  uint32_t dtype;
  const char *descr; // what is written
};
const Kind kinds[] = {
    {MOPT_F32, "<f4"},      {MOPT_U8, "|u1"},         {MOPT_I8, "|i1"},     {MOPT_U16, "<u2"},        {MOPT_I16, "<i2"},
    {MOPT_I32, "<i4"},      {MOPT_I64, "<i8"},        {MOPT_BOOL, "|b1"},   {MOPT_F16, "<f2"},        {MOPT_F64, "<f8"},
    {MOPT_U32, "<u4"},      {MOPT_U64, "<u8"},        {MOPT_C64, "<c8"},    {MOPT_C128, "<c16"},      {MOPT_BF16, "<u2"},
    {MOPT_F8E4M3FN, "|u1"}, {MOPT_F8E4M3FNUZ, "|u1"}, {MOPT_F8E5M2, "|u1"}, {MOPT_F8E5M2FNUZ, "|u1"}, {MOPT_F8E8M0, "|u1"},
    {MOPT_U4, "|u1"},       {MOPT_I4, "|i1"},         {MOPT_F4E2M1, "|u1"}, {MOPT_U2, "|u1"},         {MOPT_I2, "|i1"}};

const char *descrOf(uint32_t dtype) {
  for (const Kind &k : kinds)
    if (k.dtype == dtype)
      return k.descr;
  failInput("MOPT-T010: element type " + std::string(mopt_dtype_name(dtype)) + " has no form in .npz files");
}

bool acceptable(const std::string &descr, uint32_t dtype) {
  std::string want = descrOf(dtype), got = descr;
  if (got.size() > 1 && got[0] == '=')
    got[0] = '<';
  if (got.size() == 3 && got[2] == '1') // byte order means nothing for one byte
    got[0] = '|';
  bool foreign = dtype == MOPT_BF16 || (dtype >= MOPT_F8E4M3FN && dtype != MOPT_U4 && dtype != MOPT_I4);
  return got == want || (foreign && (got == "<V2" || got == "|V2" || got == "|V1") && got[2] == want[2]);
}

[[noreturn]] void bad(const std::string &array, const std::string &what) {
  failInput("MOPT-T011: array '" + printable(array) + "': " + what);
}

// Elements stored one a byte <-> packed, low bits first.
Bytes pack(const Bytes &from, uint64_t count, uint32_t bits) {
  Bytes to((count * bits + 7) / 8);
  if (to.size())
    std::memset(to.data(), 0, to.size());
  uint8_t mask = static_cast<uint8_t>((1u << bits) - 1);
  for (uint64_t i = 0; i < count; ++i)
    to.data()[i * bits / 8] |= static_cast<uint8_t>((from.data()[i] & mask) << (i * bits % 8));
  return to;
}
Bytes unpack(const uint8_t *from, uint64_t count, uint32_t bits, bool isSigned) {
  Bytes to(count);
  uint8_t mask = static_cast<uint8_t>((1u << bits) - 1), top = static_cast<uint8_t>(1u << (bits - 1));
  for (uint64_t i = 0; i < count; ++i) {
    uint8_t v = (from[i * bits / 8] >> (i * bits % 8)) & mask;
    to.data()[i] = isSigned && (v & top) ? static_cast<uint8_t>(v | ~mask) : v;
  }
  return to;
}

// Column-major to row-major: numpy writes this for transposed arrays.
Bytes transpose(const Bytes &from, const std::vector<int64_t> &dims, size_t width) {
  Bytes to(from.size());
  std::vector<int64_t> index(dims.size(), 0);
  std::vector<uint64_t> stride(dims.size(), width); // in `from`
  for (size_t d = 1; d < dims.size(); ++d)
    stride[d] = stride[d - 1] * static_cast<uint64_t>(dims[d - 1]);
  for (uint64_t at = 0; at < from.size(); at += width) {
    uint64_t source = 0;
    for (size_t d = 0; d < dims.size(); ++d)
      source += stride[d] * static_cast<uint64_t>(index[d]);
    std::memcpy(to.data() + at, from.data() + source, width);
    for (size_t d = dims.size(); d-- > 0 && ++index[d] == dims[d];)
      index[d] = 0;
  }
  return to;
}

// The header is a Python dictionary; numpy writes its three keys in any spelling of whitespace. No escapes occur in legal
// ones.
struct HeaderParser {
  const std::string &text;
  const std::string &array;
  size_t at = 0;

  [[noreturn]] void fail() { bad(array, "its header is not one that numpy writes"); }
  char peek() {
    while (at < text.size() && std::strchr(" \t\r\n", text[at]))
      ++at;
    return at < text.size() ? text[at] : 0;
  }
  bool eat(char c) { return peek() == c ? ++at, true : false; }
  void need(char c) {
    if (!eat(c))
      fail();
  }
  std::string quoted() {
    char q = peek();
    if (q != '\'' && q != '"')
      fail();
    size_t end = text.find(q, ++at);
    if (end == std::string::npos)
      fail();
    std::string s = text.substr(at, end - at);
    at = end + 1;
    return s;
  }
  bool boolean() {
    peek();
    for (bool value : {true, false}) {
      const char *word = value ? "True" : "False";
      if (text.compare(at, std::strlen(word), word) == 0)
        return at += std::strlen(word), value;
    }
    fail();
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> dims;
    need('(');
    while (!eat(')')) {
      if (!std::isdigit(static_cast<unsigned char>(peek())))
        fail();
      int64_t v = 0;
      while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])))
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, text[at++] - '0', &v))
          bad(array, "a dimension is too large");
      if (at < text.size() && text[at] == 'L')
        ++at;
      dims.push_back(v);
      if (dims.size() > 64)
        fail();
      if (peek() != ')')
        need(',');
    }
    return dims;
  }
  NpzEntry parse() {
    NpzEntry e;
    int seen = 0;
    need('{');
    while (!eat('}')) {
      std::string key = quoted();
      need(':');
      if (key == "descr") {
        if (peek() == '[')
          bad(array, "it is a structured array; mopt takes plain ones");
        e.descr = quoted(), seen |= 1;
      } else if (key == "fortran_order") {
        e.fortran = boolean(), seen |= 2;
      } else if (key == "shape") {
        e.dims = tuple(), seen |= 4;
      } else {
        fail();
      }
      if (peek() != '}')
        need(',');
    }
    if (seen != 7)
      fail();
    return e;
  }
};

struct EntryFile {
  zip_file_t *file;
  const std::string &array;
  ~EntryFile() { zip_fclose(file); }
  void read(void *to, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
      zip_int64_t n = zip_fread(file, static_cast<char *>(to) + done, std::min<uint64_t>(bytes - done, 1 << 20));
      if (n <= 0)
        bad(array, n < 0 ? std::string("damaged: ") + zip_error_strerror(zip_file_get_error(file)) : "cut");
      done += static_cast<uint64_t>(n);
    }
  }
};

} // namespace

struct NpzReader::Impl {
  zip_t *zip = nullptr;
  std::string path;
  std::map<std::string, zip_uint64_t> entries;
};

NpzReader::NpzReader(const std::string &path) : impl(new Impl) {
  impl->path = path;
  int code = 0;
  impl->zip = zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (!impl->zip) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    failInput("MOPT-T012: cannot read '" + printable(path, 300) + "' as .npz: " + text + " (numpy.savez writes such files)");
  }
  zip_int64_t count = zip_get_num_entries(impl->zip, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char *name = zip_get_name(impl->zip, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
    std::string text = name ? name : "";
    if (text.size() <= 4 || text.compare(text.size() - 4, 4, ".npy") != 0)
      continue;
    if (!impl->entries.emplace(text.substr(0, text.size() - 4), static_cast<zip_uint64_t>(i)).second) {
      zip_discard(impl->zip); // the destructor does not run for a constructor that throws
      bad(text, "it is in the file twice");
    }
  }
}
NpzReader::~NpzReader() { zip_discard(impl->zip); }

std::vector<std::string> NpzReader::names() const {
  std::vector<std::string> all;
  for (auto &e : impl->entries)
    all.push_back(e.first);
  return all;
}
bool NpzReader::has(const std::string &name) const { return impl->entries.count(name) != 0; }

Array NpzReader::read(const std::string &name, uint32_t dtype) const {
  zip_uint64_t index = impl->entries.at(name);
  zip_stat_t stat;
  if (zip_stat_index(impl->zip, index, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE) || !(stat.valid & ZIP_STAT_COMP_SIZE))
    bad(name, "its size is not recorded");
  if (stat.size > MaxArray || stat.size / MaxRatio > stat.comp_size + 1)
    bad(name, "it claims " + std::to_string(stat.size) + " bytes from " + std::to_string(stat.comp_size) + " in the file");
  zip_file_t *handle = zip_fopen_index(impl->zip, index, 0);
  if (!handle)
    bad(name, std::string("cannot be unpacked: ") + zip_strerror(impl->zip));
  EntryFile file{handle, name};
  unsigned char magic[12];
  file.read(magic, 10);
  if (std::memcmp(magic, "\x93NUMPY", 6) != 0 || magic[6] < 1 || magic[6] > 3)
    bad(name, "it is no .npy array");
  uint64_t length = magic[8] | magic[9] << 8, before = 10;
  if (magic[6] > 1) {
    file.read(magic + 10, 2);
    length |= static_cast<uint64_t>(magic[10]) << 16 | static_cast<uint64_t>(magic[11]) << 24;
    before = 12;
  }
  if (length > MaxHeader)
    bad(name, "its header has " + std::to_string(length) + " bytes");
  std::string header(length, 0);
  file.read(header.data(), length);
  NpzEntry entry = HeaderParser{header, name}.parse();
  if (!entry.descr.empty() && entry.descr[0] == '>')
    bad(name, "it is big endian (" + printable(entry.descr) + "); save it with .astype('" + descrOf(dtype) + "')");
  if (!acceptable(entry.descr, dtype))
    bad(name, "element type is '" + printable(entry.descr) + "', the model takes " + mopt_dtype_name(dtype) + " ('" +
                  descrOf(dtype) + "')");
  if (entry.dims.size() > MOPT_MAX_RANK)
    bad(name, "it has " + std::to_string(entry.dims.size()) + " dimensions, at most 8 are possible");
  size_t width = static_cast<size_t>(std::atoi(descrOf(dtype) + 2));
  uint64_t count = 1, size;
  for (int64_t d : entry.dims)
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(d), &count))
      bad(name, "its shape is too large");
  if (__builtin_mul_overflow(count, width, &size) || before + length > stat.size || size != stat.size - before - length)
    bad(name, "shape and size disagree: " + std::to_string(count) + " elements of " + std::to_string(width) + " bytes, " +
                  std::to_string(stat.size) + " bytes with header");
  Array array;
  array.dtype = dtype;
  array.dims = entry.dims;
  array.bytes = Bytes(size);
  file.read(array.bytes.data(), size);
  char extra;
  if (zip_fread(handle, &extra, 1) != 0) // also lets libzip compare the checksum
    bad(name, "damaged: checksum or size is wrong");
  if (entry.fortran && entry.dims.size() > 1 && size)
    array.bytes = transpose(array.bytes, entry.dims, width);
  if (dtype == MOPT_BOOL)
    for (uint64_t i = 0; i < size; ++i)
      array.bytes.data()[i] = array.bytes.data()[i] != 0;
  if (mopt_dtype_bits(dtype) < 8)
    array.bytes = pack(array.bytes, count, mopt_dtype_bits(dtype));
  return array;
}

void writeNpz(const std::string &path, const std::vector<NamedTensor> &arrays) {
  int code = 0;
  zip_t *zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code); // libzip writes aside and renames
  if (!zip) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    failInput("MOPT-T013: cannot write '" + printable(path, 300) + "': " + text);
  }
  std::vector<std::string> headers(arrays.size());
  std::vector<Bytes> unpacked(arrays.size());
  bool ok = true;
  for (size_t i = 0; i < arrays.size() && ok; ++i) {
    const mopt_array &t = arrays[i].tensor;
    const uint8_t *data = static_cast<const uint8_t *>(t.data);
    uint64_t bytes = t.bytes, count = 1;
    std::string dims;
    for (uint32_t d = 0; d < t.rank; ++d) {
      dims += std::to_string(t.dims[d]) + (d + 1 < t.rank || t.rank == 1 ? "," : "") + (d + 1 < t.rank ? " " : "");
      count *= static_cast<uint64_t>(t.dims[d]);
    }
    uint32_t bits = mopt_dtype_bits(t.dtype);
    if (bits < 8) {
      unpacked[i] = unpack(data, count, bits, t.dtype == MOPT_I4 || t.dtype == MOPT_I2);
      data = unpacked[i].data();
      bytes = count;
    }
    std::string text =
        std::string("{'descr': '") + descrOf(t.dtype) + "', 'fortran_order': False, 'shape': (" + dims + "), }";
    text.append(63 - (10 + text.size()) % 64, ' ');
    text += '\n';
    headers[i] = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size() & 255) +
                 static_cast<char>(text.size() >> 8) + text;
    zip_buffer_fragment_t pieces[2] = {{reinterpret_cast<zip_uint8_t *>(headers[i].data()), headers[i].size()},
                                       {const_cast<zip_uint8_t *>(data), bytes}};
    zip_source_t *source = zip_source_buffer_fragment(zip, pieces, bytes ? 2 : 1, 0);
    // An output that a model lists twice is one value, and one file.
    zip_flags_t flags = ZIP_FL_ENC_UTF_8 | ZIP_FL_OVERWRITE;
    zip_int64_t index = source ? zip_file_add(zip, (arrays[i].name + ".npy").c_str(), source, flags) : -1;
    if (index < 0 && source)
      zip_source_free(source);
    zip_uint64_t at = static_cast<zip_uint64_t>(index);
    ok = index >= 0 && zip_set_file_compression(zip, at, ZIP_CM_STORE, 0) == 0 &&
         zip_file_set_dostime(zip, at, 0, 1 << 5 | 1, 0) == 0; // 1980-01-01: no clock in results
  }
  if (!ok || zip_close(zip) != 0) {
    std::string text = zip_strerror(zip);
    zip_discard(zip);
    failInput("MOPT-T013: cannot write '" + printable(path, 300) + "': " + text);
  }
}

} // namespace mopt::tool
