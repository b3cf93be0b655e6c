#include "Common.h"
#include "Npz.h"
#include <algorithm>
#include <cstring>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

namespace mopt::tool {

void failInput(const std::string &message) { throw Failure(InputFault, message); }

void check(mopt_code code, const mopt_error &error) {
  if (code != MOPT_OK)
    throw Failure(code >= 100 ? InternalFault : InputFault, error.message);
}

Model loadModel(const std::string &path) {
  mopt_error error;
  mopt_model *model = nullptr;
  check(mopt_model_load(path.c_str(), &model, &error), error);
  return Model(model);
}

Model describeModel(const std::string &path) {
  mopt_error error;
  mopt_model *model = nullptr;
  check(mopt_model_describe(path.c_str(), &model, &error), error);
  return Model(model);
}

void verifyWeights(const mopt_model *model) {
  mopt_error error;
  check(mopt_model_verify_weights(model, &error), error);
}

Pool makePool(int threads) {
  mopt_error error;
  mopt_pool *pool = nullptr;
  check(mopt_pool_create(threads, &pool, &error), error);
  return Pool(pool);
}

void chooseVariant(mopt_session *session, const mopt_model *model, const std::string &name) {
  if (name.empty())
    return;
  mopt_model_info info;
  mopt_model_get_info(model, &info);
  std::set<std::string> names;
  bool chosen = false;
  for (uint32_t i = 0; i < info.nsteps; ++i) {
    mopt_step_info step;
    mopt_model_step(model, i, &step);
    for (uint32_t v = 0; v < step.nvariants; ++v)
      names.insert(mopt_model_variant_name(model, i, v));
    int32_t variant = mopt_model_find_variant(model, i, name.c_str());
    if (variant < 0)
      continue;
    mopt_error error;
    check(mopt_session_set_variant(session, i, static_cast<uint32_t>(variant), &error), error);
    chosen = true;
  }
  if (chosen)
    return;
  std::string list;
  for (const std::string &other : names)
    list += (list.empty() ? "" : ", ") + printable(other, 40);
  failInput("MOPT-T014: no step has a variant '" + printable(name, 40) + "'; there are: " + list +
            " (mopt compile --tiles adds some)");
}

Session makeSession(mopt_model *model, mopt_pool *pool, bool profile) {
  mopt_error error;
  mopt_session_options options = {};
  options.size = sizeof options;
  options.pool = pool;
  options.profile = profile;
  mopt_session *session = nullptr;
  check(mopt_session_create(model, &options, &session, &error), error);
  return Session(session);
}

Bytes::Bytes(uint64_t size) : bytes(size) {
  if (!size)
    return;
  // A size that this machine cannot hold is refused before its pages are touched one by one.
  uint64_t memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (size > memory)
    failInput("MOPT-T001: an array of " + std::to_string(size) + " bytes is larger than the memory of this machine (" +
              std::to_string(memory) + "); use smaller shapes");
  uint64_t mapped = (size + 4095) / 4096 * 4096;
  void *p = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    failInput("MOPT-T001: out of memory for an array of " + std::to_string(size) + " bytes");
  block = std::unique_ptr<uint8_t, Release>(static_cast<uint8_t *>(p), Release{mapped});
}
void Bytes::Release::operator()(uint8_t *p) const { munmap(p, mapped); }

mopt_array asTensor(const Array &array) {
  mopt_array t = {};
  t.data = array.bytes.data();
  t.bytes = array.bytes.size();
  t.dtype = array.dtype;
  t.rank = static_cast<uint32_t>(array.dims.size());
  for (size_t i = 0; i < array.dims.size() && i < MOPT_MAX_RANK; ++i)
    t.dims[i] = array.dims[i];
  return t;
}

Shapes parseShapes(const std::vector<std::string> &texts) {
  Shapes shapes;
  for (const std::string &text : texts) {
    size_t equal = text.rfind('=');
    if (equal == std::string::npos || equal == 0)
      failInput("MOPT-T002: --shape " + printable(text) + ": expected NAME=1x3x224x224");
    std::vector<int64_t> dims;
    for (size_t at = equal + 1; at < text.size();) {
      size_t end = std::min(text.find_first_of("x,", at), text.size());
      if (end == at || end - at > 18 || text.find_first_not_of("0123456789", at) < end ||
          (end + 1 == text.size() && end != text.size()))
        failInput("MOPT-T002: --shape " + printable(text) + ": expected NAME=1x3x224x224");
      dims.push_back(std::stoll(text.substr(at, end - at)));
      at = end + 1;
    }
    if (dims.size() > MOPT_MAX_RANK)
      failInput("MOPT-T002: --shape " + printable(text) + ": at most 8 dimensions are possible");
    shapes[text.substr(0, equal)] = dims;
  }
  return shapes;
}

std::string dimsText(const mopt_model *model, const mopt_tensor_info &info) {
  std::string text = "[";
  for (uint32_t d = 0; d < info.rank; ++d) {
    if (d)
      text += ',';
    if (info.dims[d] >= 0) {
      text += std::to_string(info.dims[d]);
    } else {
      const char *name = mopt_model_symbol_name(model, static_cast<uint32_t>(MOPT_SYMBOL_OF_SIZE(info.dims[d])));
      text += printable(name && *name ? name : "?", 40);
    }
  }
  return text + "]";
}

std::vector<mopt_array> inputShapes(const mopt_model *model, const Shapes &shapes) {
  mopt_model_info info;
  mopt_model_get_info(model, &info);
  for (auto &given : shapes)
    if (mopt_model_find_input(model, given.first.c_str()) < 0)
      failInput("MOPT-T003: --shape " + printable(given.first) + ": the model has no such input");
  std::vector<mopt_array> all;
  for (uint32_t i = 0; i < info.ninputs; ++i) {
    mopt_tensor_info input;
    mopt_model_input(model, i, &input);
    mopt_array t = {};
    t.dtype = input.dtype;
    auto given = shapes.find(input.name);
    if (given != shapes.end()) {
      t.rank = static_cast<uint32_t>(given->second.size());
      std::copy(given->second.begin(), given->second.end(), t.dims);
    } else {
      t.rank = input.rank;
      for (uint32_t d = 0; d < input.rank; ++d) {
        if (input.dims[d] < 0)
          failInput("MOPT-T004: input '" + printable(input.name) + "' has free sizes " + dimsText(model, input) +
                    ": give --shape " + printable(input.name) + "=... or --inputs FILE.npz");
        t.dims[d] = input.dims[d];
      }
    }
    all.push_back(t);
  }
  return all;
}

static uint64_t next(uint64_t &state) { // splitmix64
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

static void fillFloats(uint32_t dtype, uint8_t *p, uint64_t bytes, uint64_t &state) {
  auto uniform = [&] { return static_cast<double>(next(state) >> 11) * 0x1p-52 - 1.0; }; // [-1, 1)
  if (dtype == MOPT_F32 || dtype == MOPT_C64) {
    for (uint64_t i = 0; i + 4 <= bytes; i += 4) {
      float v = static_cast<float>(uniform());
      std::memcpy(p + i, &v, 4);
    }
  } else if (dtype == MOPT_F64 || dtype == MOPT_C128) {
    for (uint64_t i = 0; i + 8 <= bytes; i += 8) {
      double v = uniform();
      std::memcpy(p + i, &v, 8);
    }
  } else { // half and bfloat16: sign, exponent of [0.5, 1), random mantissa
    for (uint64_t i = 0; i + 2 <= bytes; i += 2) {
      uint64_t r = next(state);
      uint16_t v = static_cast<uint16_t>((r & 0x8000) | (dtype == MOPT_F16 ? 0x3800 | (r & 0x3ff) : 0x3f00 | (r & 0x7f)));
      std::memcpy(p + i, &v, 2);
    }
  }
}

std::vector<Array> makeInputs(const mopt_model *model, const Shapes &shapes, uint64_t seed) {
  std::vector<Array> inputs;
  for (const mopt_array &shape : inputShapes(model, shapes)) {
    Array a;
    a.dtype = shape.dtype;
    a.dims.assign(shape.dims, shape.dims + shape.rank);
    uint64_t count = 1, bits = mopt_dtype_bits(shape.dtype), total;
    bool fits = true;
    for (int64_t d : a.dims)
      fits = fits && !__builtin_mul_overflow(count, static_cast<uint64_t>(d), &count);
    if (!fits || __builtin_mul_overflow(count, bits, &total) || total / 8 > 1ull << 40)
      failInput("MOPT-T002: --shape: an input of that shape is too large");
    a.bytes = Bytes((total + 7) / 8);
    uint64_t state = seed + inputs.size();
    switch (shape.dtype) {
    case MOPT_F32:
    case MOPT_F64:
    case MOPT_F16:
    case MOPT_BF16:
    case MOPT_C64:
    case MOPT_C128:
      fillFloats(shape.dtype, a.bytes.data(), a.bytes.size(), state);
      break;
    default: // integers, bools and small floats: bit 0 of each element
      for (uint64_t i = 0; i < count; ++i)
        a.bytes.data()[i * bits / 8] |= static_cast<uint8_t>((next(state) >> 40 & 1) << (bits < 8 ? i * bits % 8 : 0));
    }
    inputs.push_back(std::move(a));
  }
  return inputs;
}

std::vector<Array> readInputs(const mopt_model *model, const std::string &path) {
  NpzReader npz(path);
  mopt_model_info info;
  mopt_model_get_info(model, &info);
  std::vector<Array> inputs;
  std::vector<std::string> unused = npz.names();
  for (uint32_t i = 0; i < info.ninputs; ++i) {
    mopt_tensor_info input;
    mopt_model_input(model, i, &input);
    if (!npz.has(input.name)) {
      std::string names;
      for (const std::string &n : npz.names())
        names += " " + printable(n, 60);
      failInput("MOPT-T005: '" + printable(path, 300) + "' has no array for input '" + printable(input.name) + "' (" +
                mopt_dtype_name(input.dtype) + " " + dimsText(model, input) + "); it has:" + names);
    }
    inputs.push_back(npz.read(input.name, input.dtype));
    unused.erase(std::remove(unused.begin(), unused.end(), std::string(input.name)), unused.end());
  }
  for (const std::string &name : unused)
    std::fprintf(stderr, "warning MOPT-T006: array '%s' is no input of the model, ignored\n", printable(name).c_str());
  return inputs;
}

void bindInputs(mopt_session *session, const std::vector<Array> &inputs) {
  mopt_error error;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    mopt_array t = asTensor(inputs[i]);
    check(mopt_session_set_input(session, i, &t, &error), error);
  }
}

std::string humanBytes(uint64_t bytes) {
  char text[40];
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = static_cast<double>(bytes);
  int u = 0;
  for (; v >= 1024 && u < 4; ++u)
    v /= 1024;
  std::snprintf(text, sizeof text, u ? "%.2f %s" : "%.0f %s", v, units[u]);
  return text;
}

std::string printable(const std::string &text, size_t most) {
  std::string out = text.substr(0, most);
  for (char &c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = c == '\n' ? ',' : '?';
  while (text.size() > most && !out.empty() && (out.back() & 0x80)) // do not cut inside a character
    out.pop_back();
  return text.size() > most ? out + "..." : out;
}

} // namespace mopt::tool
