#include "TableBuilder.h"
#include <cstring>
#include <elf.h>

namespace mopt::test {

// Static, because references are 32-bit distances: code and table must lie near each other.
alignas(64) static char storage[32 << 20];
static std::atomic<size_t> used{0};

template <typename T> static T *place(const T *from, size_t n) {
  size_t bytes = (n * sizeof(T) + 127) / 64 * 64;
  char *to = storage + used.fetch_add(bytes);
  if (n)
    std::memcpy(to, from, n * sizeof(T));
  return reinterpret_cast<T *>(to);
}
static char *place(const std::string &text) { return place(text.c_str(), text.size() + 1); }
static void refer(mopt_rel &field, const void *target) {
  field = static_cast<mopt_rel>(reinterpret_cast<intptr_t>(target) - reinterpret_cast<intptr_t>(&field));
}

int TableBuilder::symbol(const std::string &name, uint32_t kind, std::vector<int64_t> code, int readyAfter) {
  symbols.push_back({name, kind, std::move(code), readyAfter});
  return static_cast<int>(symbols.size()) - 1;
}
int TableBuilder::buffer(uint32_t kind, uint32_t dtype, Dims dims, uint32_t index, int first, int last, uint64_t offset) {
  buffers.push_back({kind, dtype, static_cast<uint32_t>(dims.size()), index, 0, first, last, 64, offset});
  bufferDims.push_back(std::move(dims));
  return static_cast<int>(buffers.size()) - 1;
}
int TableBuilder::input(const std::string &name, uint32_t dtype, Dims dims) {
  int b = buffer(MOPT_BUF_INPUT, dtype, dims, static_cast<uint32_t>(inputs.size()), 0, 0, 0);
  inputs.push_back({name, dtype, dims, b});
  return b;
}
int TableBuilder::output(const std::string &name, uint32_t dtype, Dims dims, int firstStep) {
  int b = buffer(MOPT_BUF_OUTPUT, dtype, dims, static_cast<uint32_t>(outputs.size()), firstStep, firstStep, 0);
  outputs.push_back({name, dtype, dims, b});
  return b;
}
int TableBuilder::arena(uint32_t dtype, Dims dims, int first, int last) {
  return buffer(MOPT_BUF_ARENA, dtype, std::move(dims), 0, first, last, 0);
}
int TableBuilder::heap(uint32_t dtype, Dims dims, int first, int last) {
  return buffer(MOPT_BUF_HEAP, dtype, std::move(dims), 0, first, last, 0);
}
int TableBuilder::weight(uint32_t dtype, Dims dims, uint64_t offset) {
  return buffer(MOPT_BUF_WEIGHT, dtype, std::move(dims), 0, 0, 0, offset);
}
void TableBuilder::check(mopt_size left, mopt_size right, const std::string &what) { checks.push_back({left, right, what}); }
int TableBuilder::step(const std::string &name, std::vector<int32_t> operands, uint32_t nwritten, mopt_size chunks,
                       std::vector<mopt_step_fn> variants, uint32_t flags, const std::string &nodes) {
  mopt_step s = {};
  s.noperands = static_cast<uint32_t>(operands.size());
  s.nwritten = nwritten;
  s.nvariants = static_cast<uint32_t>(variants.size());
  s.flags = flags;
  s.macs = s.bytes = 0;
  steps.push_back(s);
  stepSpecs.push_back({name, nodes, std::move(operands), std::move(variants), chunks});
  return static_cast<int>(steps.size()) - 1;
}
void TableBuilder::weights(const void *data, uint64_t bytes) { weightData = data, weightBytes = bytes; }

const mopt_module *TableBuilder::build() {
  mopt_module empty = {};
  mopt_module *m = place(&empty, 1);
  m->magic = MOPT_ABI_MAGIC, m->abi_version = MOPT_ABI_VERSION, m->size = sizeof *m;
#if defined(__x86_64__)
  m->machine = EM_X86_64;
#else
  m->machine = EM_AARCH64;
#endif
  mopt_symbol *syms = place(std::vector<mopt_symbol>(symbols.size()).data(), symbols.size());
  for (size_t i = 0; i < symbols.size(); ++i) {
    refer(syms[i].name, place(symbols[i].name));
    syms[i].kind = symbols[i].kind;
    refer(syms[i].code, place(symbols[i].code.data(), symbols[i].code.size()));
    syms[i].ncode = static_cast<uint32_t>(symbols[i].code.size());
    syms[i].ready_after = symbols[i].readyAfter;
  }
  refer(m->symbols, syms), m->nsymbols = static_cast<uint32_t>(symbols.size());
  mopt_check *chks = place(std::vector<mopt_check>(checks.size()).data(), checks.size());
  for (size_t i = 0; i < checks.size(); ++i) {
    chks[i].left = checks[i].left, chks[i].right = checks[i].right;
    refer(chks[i].what, place(checks[i].what));
  }
  refer(m->checks, chks), m->nchecks = static_cast<uint32_t>(checks.size());
  for (auto *ports : {&inputs, &outputs}) {
    mopt_port *p = place(std::vector<mopt_port>(ports->size()).data(), ports->size());
    for (size_t i = 0; i < ports->size(); ++i) {
      const PortSpec &spec = (*ports)[i];
      refer(p[i].name, place(spec.name));
      p[i].dtype = spec.dtype, p[i].rank = static_cast<uint32_t>(spec.dims.size());
      refer(p[i].dims, place(spec.dims.data(), spec.dims.size()));
      p[i].buffer = static_cast<uint32_t>(spec.buffer);
    }
    refer(ports == &inputs ? m->inputs : m->outputs, p);
    (ports == &inputs ? m->ninputs : m->noutputs) = static_cast<uint32_t>(ports->size());
  }
  mopt_buffer *bufs = place(buffers.data(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i)
    refer(bufs[i].dims, place(bufferDims[i].data(), bufferDims[i].size()));
  refer(m->buffers, bufs), m->nbuffers = static_cast<uint32_t>(buffers.size());
  mopt_step *st = place(steps.data(), steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepSpec &spec = stepSpecs[i];
    refer(st[i].name, place(spec.name));
    refer(st[i].nodes, place(spec.nodes));
    refer(st[i].operands, place(spec.operands.data(), spec.operands.size()));
    mopt_variant *v = place(std::vector<mopt_variant>(spec.variants.size()).data(), spec.variants.size());
    for (size_t k = 0; k < spec.variants.size(); ++k) {
      refer(v[k].fn, reinterpret_cast<const void *>(spec.variants[k]));
      refer(v[k].name, place("v" + std::to_string(k)));
      auto own = variantChunks.find({static_cast<int>(i), static_cast<int>(k)});
      v[k].chunks = own == variantChunks.end() ? spec.chunks : own->second;
    }
    refer(st[i].variants, v);
  }
  refer(m->steps, st), m->nsteps = static_cast<uint32_t>(steps.size());
  refer(m->weights, place(static_cast<const char *>(weightData), weightBytes)), m->weights_bytes = weightBytes;
  m->serial_macs = serialMacs, m->serial_bytes = serialBytes;
  return m;
}

Model makeModel(TableBuilder &table) {
  mopt_model *model = nullptr;
  EXPECT_OK(mopt_model_from_module(table.build(), &model, error));
  return Model(model);
}
Pool makePool(int threads) {
  mopt_pool *pool = nullptr;
  EXPECT_OK(mopt_pool_create(threads, &pool, error));
  return Pool(pool);
}
Session makeSession(mopt_model *model, mopt_pool *pool, bool keep, bool profile) {
  mopt_session_options options = {};
  options.size = sizeof options, options.pool = pool, options.keep_buffers = keep, options.profile = profile;
  mopt_session *session = nullptr;
  EXPECT_OK(mopt_session_create(model, &options, &session, error));
  return Session(session);
}
mopt_array tensor(uint32_t dtype, std::vector<int64_t> dims, void *data) {
  mopt_array t = {};
  t.data = data, t.dtype = dtype, t.rank = static_cast<uint32_t>(dims.size());
  uint64_t count = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    t.dims[i] = dims[i], count *= static_cast<uint64_t>(dims[i]);
  t.bytes = (count * mopt_dtype_bits(dtype) + 7) / 8;
  return t;
}

template <typename F> static int32_t rows(const mopt_call *call, void *to, const void *from, F f) {
  for (int64_t i = call->chunk_begin * 4; i < call->chunk_end * 4; ++i)
    static_cast<float *>(to)[i] = f(static_cast<const float *>(from)[i]);
  return MOPT_STEP_OK;
}
int32_t addOne(const mopt_call *call) {
  return rows(call, call->buffers[1], call->buffers[0], [](float v) { return v + 1; });
}
int32_t timesTwo(const mopt_call *call) {
  return rows(call, call->buffers[1], call->buffers[0], [](float v) { return v * 2; });
}
int32_t addOneInPlace(const mopt_call *call) {
  return rows(call, call->buffers[0], call->buffers[0], [](float v) { return v + 1; });
}

void chain(TableBuilder &table, int length) {
  mopt_size n = symbolSize(table.symbol("n"));
  int in = table.input("x", MOPT_F32, {n, 4});
  int out = table.output("y", MOPT_F32, {n, 4}, length - 1);
  for (int i = 0; i < length; ++i) {
    int to = i + 1 == length ? out : table.arena(MOPT_F32, {n, 4}, i, i + 1);
    table.step("s" + std::to_string(i), {in, to}, 1, n, {i % 2 ? timesTwo : addOne, i % 2 ? addOne : timesTwo}, 0,
               "node_" + std::to_string(i) + "\nextra_" + std::to_string(i));
    in = to;
  }
}

} // namespace mopt::test
