//===- Recurrent.h - what RNN, GRU and LSTM share -----------------------------------------------------------------===//
//
// ONNX: RNN, GRU, LSTM. A pre-activation is one chain over the input, then over the hidden state; biases are added after it.
// One step of a block of sequences is a contraction (Panel.h) whose panel holds 16 hidden units of up to four gates, so that
// all that a unit needs is there when its sums are finished. The state lives on the stack: as many sequences at a time as fit,
// which changes no bits, since sequences do not meet.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOPT_LIB_REFERENCE_RECURRENT_H
#define MOPT_LIB_REFERENCE_RECURRENT_H
#include "Math.h"
#include "Panel.h"

namespace mopt {
namespace ref {

enum { recurrentState = 2048, recurrentRows = 64 }; // numbers per state vector (16 KB in f64), sequences at a time

struct RecurrentShape {
  int64_t steps, batch, input, hidden, directions;
  bool batchFirst; // layout = 1
};
struct RecurrentSlots {
  int32_t alpha, beta, activations, clip, direction, hiddenSize, layout;
};
enum { recX = 0, recW = 1, recR = 2, recB = 3, recLengths = 4, recH = 5 }; // operands of all three
enum { recForward = 0, recReverse = 1, recBidirectional = 2 };

MOPT_INLINE int32_t expectDims(const mopt_tensor &t, int32_t slot, int64_t a, int64_t b, int64_t c, mopt_fault *fault) {
  int32_t rank = c >= 0 ? 3 : b >= 0 ? 2 : 1;
  if (t.rank != rank) return fail(fault, MOPT_STEP_SHAPE, slot, t.rank, rank);
  int64_t expected[3] = {a, b, c};
  for (int32_t i = 0; i < rank; ++i)
    if (t.dims[i] != expected[i]) return fail(fault, MOPT_STEP_SHAPE, slot, t.dims[i], expected[i]);
  return MOPT_STEP_OK;
}
/// `gates` of the weights; `states` results y_h (and y_c) follow y.
MOPT_INLINE int32_t recurrentShape(const mopt_tensor *in, int32_t nin, const mopt_tensor *out, int32_t nout,
                                   const mopt_attr *attr, RecurrentSlots slot, int64_t gates, RecurrentShape &s,
                                   mopt_fault *fault) {
  const mopt_tensor &x = in[recX];
  if (x.rank != 3) return fail(fault, MOPT_STEP_SHAPE, recX, x.rank, 3);
  s.batchFirst = attrInt(attr, slot.layout) != 0;
  s.steps = x.dims[s.batchFirst ? 1 : 0];
  s.batch = x.dims[s.batchFirst ? 0 : 1];
  s.input = x.dims[2];
  s.hidden = attrInt(attr, slot.hiddenSize);
  s.directions = attrInt(attr, slot.direction) == recBidirectional ? 2 : 1;
  if (s.hidden < 1 || s.hidden > recurrentState) return fail(fault, MOPT_STEP_VALUE, -1, s.hidden, recurrentState);
  if (int32_t status = expectDims(in[recW], recW, s.directions, gates * s.hidden, s.input, fault)) return status;
  if (int32_t status = expectDims(in[recR], recR, s.directions, gates * s.hidden, s.hidden, fault)) return status;
  if (const mopt_tensor *b = operand(in, nin, recB))
    if (int32_t status = expectDims(*b, recB, s.directions, 2 * gates * s.hidden, -1, fault)) return status;
  if (const mopt_tensor *lengths = operand(in, nin, recLengths))
    if (int32_t status = expectDims(*lengths, recLengths, s.batch, -1, -1, fault)) return status;
  int64_t first = s.batchFirst ? s.batch : s.directions, second = s.batchFirst ? s.directions : s.batch;
  for (int32_t i = recH; i <= recH + 1; ++i) // initial_h and, of an LSTM, initial_c
    if (const mopt_tensor *h = operand(in, nin, i))
      if (int32_t status = expectDims(*h, i, first, second, s.hidden, fault)) return status;
  for (int32_t i = 1; i < nout; ++i)
    if (present(out[i]))
      if (int32_t status = expectDims(out[i], -1, first, second, s.hidden, fault)) return status;
  if (nout > 0 && present(out[0])) {
    const mopt_tensor &y = out[0];
    int64_t dims[4] = {s.steps, s.directions, s.batch, s.hidden}, batchFirst[4] = {s.batch, s.steps, s.directions, s.hidden};
    if (y.rank != 4) return fail(fault, MOPT_STEP_SHAPE, -1, y.rank, 4);
    for (int32_t i = 0; i < 4; ++i) {
      int64_t expected = s.batchFirst ? batchFirst[i] : dims[i];
      if (y.dims[i] != expected) return fail(fault, MOPT_STEP_SHAPE, -1, y.dims[i], expected);
    }
  }
  return MOPT_STEP_OK;
}
MOPT_INLINE int64_t inputOffset(const mopt_tensor &x, const RecurrentShape &s, int64_t t, int64_t b) {
  return s.batchFirst ? b * x.strides[0] + t * x.strides[1] : t * x.strides[0] + b * x.strides[1];
}
MOPT_INLINE int64_t stateOffset(const mopt_tensor &h, const RecurrentShape &s, int64_t d, int64_t b) {
  return s.batchFirst ? b * h.strides[0] + d * h.strides[1] : d * h.strides[0] + b * h.strides[1];
}
MOPT_INLINE int64_t outputOffset(const mopt_tensor &y, const RecurrentShape &s, int64_t t, int64_t d, int64_t b) {
  return s.batchFirst ? b * y.strides[0] + t * y.strides[1] + d * y.strides[2]
                      : t * y.strides[0] + d * y.strides[1] + b * y.strides[2];
}

//===----------------------------------------------------------------------===//
// Activations (ONNX RNN, attribute `activations`)
//===----------------------------------------------------------------------===//
enum class Activation : int32_t {
  relu,
  tanh,
  sigmoid,
  affine,
  leakyRelu,
  thresholdedRelu,
  scaledTanh,
  hardSigmoid,
  elu,
  softsign,
  softplus,
  unknown
};
struct ActivationOf {
  Activation kind;
  double alpha, beta;
};
/// Name `index` in text, names separated by newlines; case does not matter.
static Activation activationNamed(const char *text, int64_t n, int64_t index) {
  static_assert((int)Activation::unknown == 11, "the list of names");
  const char *names =
      "relu\ntanh\nsigmoid\naffine\nleakyrelu\nthresholdedrelu\nscaledtanh\nhardsigmoid\nelu\nsoftsign\nsoftplus\n";
  int64_t at = 0;
  for (; index > 0 && at < n; ++at)
    if (text[at] == '\n') --index;
  int64_t name = 0;
  for (int32_t kind = 0; kind < (int)Activation::unknown; ++kind) {
    int64_t i = 0;
    bool same = true;
    for (; names[name + i] != '\n'; ++i) {
      char c = at + i < n ? text[at + i] : '\0';
      if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
      same = same && c == names[name + i];
      if (!same) break;
    }
    if (same && (at + i == n || text[at + i] == '\n')) return (Activation)kind;
    while (names[name] != '\n') ++name;
    ++name;
  }
  return Activation::unknown;
}
/// Activation `index` of all directions; `given` is the default kind. alpha and beta go to those that use them, in order.
static int32_t activationAt(const mopt_attr *attr, RecurrentSlots slot, int64_t index, Activation given, ActivationOf &a,
                            mopt_fault *fault) {
  FloatList alphas = attrFloats(attr, slot.alpha), betas = attrFloats(attr, slot.beta);
  const mopt_attr &text = attr[slot.activations];
  int64_t alpha = 0, beta = 0;
  for (int64_t i = 0; i <= index; ++i) {
    a.kind = text.n > 0 ? activationNamed((const char *)text.values, text.n, i) : given;
    if (a.kind == Activation::unknown) return fail(fault, MOPT_STEP_VALUE, -1, i, (int64_t)Activation::unknown);
    bool hasBeta = a.kind == Activation::affine || a.kind == Activation::scaledTanh || a.kind == Activation::hardSigmoid;
    bool hasAlpha =
        hasBeta || a.kind == Activation::leakyRelu || a.kind == Activation::thresholdedRelu || a.kind == Activation::elu;
    a.alpha = a.kind == Activation::leakyRelu ? 0.01f : a.kind == Activation::hardSigmoid ? 0.2f : 1.0;
    a.beta = a.kind == Activation::hardSigmoid ? 0.5 : a.kind == Activation::scaledTanh ? 1.0 : 0.0;
    if (hasAlpha && alpha < alphas.n) a.alpha = alphas[alpha++];
    if (hasBeta && beta < betas.n) a.beta = betas[beta++];
  }
  return MOPT_STEP_OK;
}
/// In place, after clipping to [-clip, clip] where clip is not 0. Not forced inline: see loadOther.
template <class T> static void activate(const ActivationOf &a, T clip, T *x, int64_t n) {
  T alpha = (T)a.alpha, beta = (T)a.beta;
  if (clip > 0)
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] < -clip ? -clip : x[i] > clip ? clip : x[i];
  switch (a.kind) {
  case Activation::relu:
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] > 0 ? x[i] : (T)0;
    break;
  case Activation::tanh:
    for (int64_t i = 0; i < n; ++i) x[i] = tanh(x[i]);
    break;
  case Activation::sigmoid:
    for (int64_t i = 0; i < n; ++i) x[i] = sigmoid(x[i]);
    break;
  case Activation::affine:
    for (int64_t i = 0; i < n; ++i) x[i] = fmadd(alpha, x[i], beta);
    break;
  case Activation::leakyRelu:
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] >= 0 ? x[i] : alpha * x[i];
    break;
  case Activation::thresholdedRelu:
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] > alpha ? x[i] : (T)0;
    break;
  case Activation::scaledTanh:
    for (int64_t i = 0; i < n; ++i) x[i] = alpha * tanh(beta * x[i]);
    break;
  case Activation::hardSigmoid:
    for (int64_t i = 0; i < n; ++i) {
      T v = fmadd(alpha, x[i], beta);
      x[i] = v < 0 ? (T)0 : v > 1 ? (T)1 : v;
    }
    break;
  case Activation::elu:
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] >= 0 ? x[i] : alpha * expm1(x[i]);
    break;
  case Activation::softsign:
    for (int64_t i = 0; i < n; ++i) x[i] = x[i] / ((T)1 + abs(x[i]));
    break;
  case Activation::softplus:
    for (int64_t i = 0; i < n; ++i) x[i] = softplus(x[i]);
    break;
  case Activation::unknown:
    break;
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//
/// One of the four column groups of a panel: hidden units [unit, unit + n) of a gate, and which operands enter.
struct Gate {
  int64_t gate, unit, n;
  bool fromX, fromH;
};
/// The sequences that run at one step.
struct Running {
  int64_t n;
  int64_t row[recurrentRows], t[recurrentRows], x[recurrentRows]; // place in the block, time, offset in x
};
/// finish(sequence among the running ones, sums): sums of gate g begin at g * lanes. `h` has `hidden` numbers per row.
template <class T, class Finish>
MOPT_INLINE void gateSums(const mopt_tensor *in, const RecurrentShape &s, int64_t d, const Running &running, const T *h,
                          const Gate (&gates)[4], Finish finish) {
  using B = Block<T>;
  const mopt_tensor &x = in[recX], &w = in[recW], &r = in[recR];
  contract<T>(
      running.n, B::cols, s.input + s.hidden,
      [&](int64_t i, int64_t k, int64_t n, T *dst) MOPT_LAMBDA {
        int64_t fromX = maxOf(0, minOf(n, s.input - k));
        if (fromX > 0) loadRun(dst, x.data, x.type, running.x[i] + k * x.strides[2], x.strides[2], fromX);
        const T *state = h + running.row[i] * s.hidden + (k - s.input);
        for (int64_t j = fromX; j < n; ++j) dst[j] = state[j];
      },
      [&](int64_t k, int64_t n, T *panel) MOPT_LAMBDA {
        int64_t fromX = maxOf(0, minOf(n, s.input - k));
        for (int32_t g = 0; g < 4; ++g) {
          const Gate &gate = gates[g];
          T *to = panel + g * B::lanes;
          int64_t row = gate.gate * s.hidden + gate.unit;
          loadPanel(to, B::cols, w.data, w.type, d * w.strides[0] + row * w.strides[1] + k * w.strides[2], w.strides[2],
                    w.strides[1], fromX, gate.fromX ? gate.n : 0, B::lanes);
          loadPanel(to + fromX * B::cols, B::cols, r.data, r.type,
                    d * r.strides[0] + row * r.strides[1] + (k + fromX - s.input) * r.strides[2], r.strides[2], r.strides[1],
                    n - fromX, gate.fromH ? gate.n : 0, B::lanes);
        }
      },
      [&](int64_t i, T *acc) MOPT_LAMBDA { finish(i, acc); });
}

/// Runs all sequences, a block of them at a time. start(direction, first sequence, count): sets up the state; step(direction,
/// first, running) computes one step; emit(direction, first, running): what is stored of it; done(direction, first, count).
template <class Start, class Step, class Done>
MOPT_INLINE int32_t runSequences(const mopt_tensor *in, int32_t nin, const mopt_tensor *out, int32_t nout,
                                 const RecurrentShape &s, int64_t direction, Start start, Step step, Done done,
                                 mopt_fault *fault) {
  const mopt_tensor *lengths = operand(in, nin, recLengths);
  for (int64_t b = 0; lengths && b < s.batch; ++b) {
    int64_t length = (int64_t)loadOne<uint64_t>(*lengths, b * lengths->strides[0]);
    if (length < 0 || length > s.steps) return fail(fault, MOPT_STEP_VALUE, recLengths, length, s.steps);
  }
  int64_t rows = minOf(recurrentRows, recurrentState / s.hidden);
  for (int64_t d = 0; d < s.directions; ++d) {
    bool reverse = direction == recReverse || d == 1;
    for (int64_t first = 0; first < s.batch; first += rows) {
      int64_t count = minOf(rows, s.batch - first);
      if (int32_t status = start(d, first, count)) return status;
      for (int64_t i = 0; i < s.steps; ++i) {
        Running running;
        running.n = 0;
        for (int64_t row = 0; row < count; ++row) {
          int64_t b = first + row,
                  length = lengths ? (int64_t)loadOne<uint64_t>(*lengths, b * lengths->strides[0]) : s.steps;
          if (i >= length) continue;
          int64_t t = reverse ? length - 1 - i : i;
          running.row[running.n] = row;
          running.t[running.n] = t;
          running.x[running.n++] = inputOffset(in[recX], s, t, b);
        }
        if (running.n > 0) step(d, first, (const Running &)running);
      }
      done(d, first, count);
      // After the end of a sequence the result is 0.
      for (int64_t row = 0; lengths && nout > 0 && present(out[0]) && row < count; ++row) {
        int64_t b = first + row;
        float zero = 0;
        for (int64_t t = (int64_t)loadOne<uint64_t>(*lengths, b * lengths->strides[0]); t < s.steps; ++t)
          for (int64_t j = 0; j < s.hidden; ++j)
            storeRun((const float *)&zero, out[0].data, out[0].type,
                     outputOffset(out[0], s, t, d, b) + j * out[0].strides[3], 1, 1);
      }
    }
  }
  return MOPT_STEP_OK;
}
/// State vectors of a block from initial values, 0 where there are none.
template <class T>
MOPT_INLINE void loadState(const mopt_tensor *initial, const RecurrentShape &s, int64_t d, int64_t first, int64_t count,
                           T *state) {
  for (int64_t row = 0; row < count; ++row) {
    if (initial)
      loadRun(state + row * s.hidden, initial->data, initial->type, stateOffset(*initial, s, d, first + row),
              initial->strides[2], s.hidden);
    else fillRun(state + row * s.hidden, (T)0, s.hidden);
  }
}
template <class T>
MOPT_INLINE void storeState(const mopt_tensor *out, int32_t nout, int32_t slot, const RecurrentShape &s, int64_t d,
                            int64_t first, int64_t count, const T *state) {
  if (slot >= nout || !present(out[slot])) return;
  const mopt_tensor &t = out[slot];
  for (int64_t row = 0; row < count; ++row)
    storeRun(state + row * s.hidden, t.data, t.type, stateOffset(t, s, d, first + row), t.strides[2], s.hidden);
}
/// New hidden states into y.
template <class T>
MOPT_INLINE void storeStep(const mopt_tensor *out, int32_t nout, const RecurrentShape &s, int64_t d, int64_t first,
                           const Running &running, const T *h) {
  if (nout < 1 || !present(out[0])) return;
  const mopt_tensor &y = out[0];
  for (int64_t i = 0; i < running.n; ++i)
    storeRun(h + running.row[i] * s.hidden, y.data, y.type, outputOffset(y, s, running.t[i], d, first + running.row[i]),
             y.strides[3], s.hidden);
}
/// Sum of the biases of W and R for hidden unit j of a gate.
template <class T>
MOPT_INLINE void addBias(const mopt_tensor *b, const RecurrentShape &s, int64_t gates, int64_t d, int64_t gate, int64_t unit,
                         int64_t n, bool ofW, bool ofR, T *x) {
  if (!b) return;
  for (int64_t i = 0; i < n; ++i) {
    int64_t w = d * b->strides[0] + (gate * s.hidden + unit + i) * b->strides[1], r = w + gates * s.hidden * b->strides[1];
    T bias = (ofW ? loadOne<T>(*b, w) : (T)0) + (ofR ? loadOne<T>(*b, r) : (T)0);
    x[i] = x[i] + bias;
  }
}

} // namespace ref
} // namespace mopt
#endif
