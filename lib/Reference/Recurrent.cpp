//===- Recurrent.cpp - RNN and GRU --------------------------------------------------------------------------------===//
//
// ONNX: RNN, GRU.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Recurrent.h"
using namespace mopt::ref;

// ONNX RNN: h = f(x * W + h * R + Wb + Rb).
MOPT_REFERENCE_FUNCTION(rnn) {
  RecurrentSlots slots = {MOPT_RNN_ACTIVATION_ALPHA, MOPT_RNN_ACTIVATION_BETA, MOPT_RNN_ACTIVATIONS, MOPT_RNN_CLIP,
                          MOPT_RNN_DIRECTION,        MOPT_RNN_HIDDEN_SIZE,     MOPT_RNN_LAYOUT};
  RecurrentShape s;
  if (int32_t status = recurrentShape(in, nin < recH + 1 ? nin : recH + 1, out, nout, attr, slots, 1, s, fault))
    return status;
  if (begin >= end) return MOPT_STEP_OK;
  const mopt_tensor *bias = operand(in, nin, recB), *initial = operand(in, nin, recH);
  return withFloat(in[recX].type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    constexpr int64_t lanes = Block<T>::lanes;
    T clip = (T)attrFloat(attr, slots.clip), h[recurrentState], next[recurrentState];
    ActivationOf f;
    return runSequences(
        in, nin, out, nout, s, attrInt(attr, slots.direction),
        [&](int64_t d, int64_t first, int64_t count) MOPT_LAMBDA {
          loadState(initial, s, d, first, count, (T *)h);
          return activationAt(attr, slots, d, Activation::tanh, f, fault);
        },
        [&](int64_t d, int64_t first, const Running &running) MOPT_LAMBDA {
          for (int64_t unit = 0; unit < s.hidden; unit += 4 * lanes) {
            Gate gates[4];
            for (int32_t g = 0; g < 4; ++g)
              gates[g] = {0, unit + g * lanes, maxOf(0, minOf(lanes, s.hidden - unit - g * lanes)), true, true};
            int64_t n = minOf(4 * lanes, s.hidden - unit);
            gateSums(in, s, d, running, (const T *)h, gates, [&](int64_t i, T *acc) MOPT_LAMBDA {
              addBias(bias, s, 1, d, 0, unit, n, true, true, acc);
              activate(f, clip, acc, n);
              T *to = next + running.row[i] * s.hidden + unit;
              for (int64_t j = 0; j < n; ++j) to[j] = acc[j];
            });
          }
          for (int64_t i = 0; i < running.n; ++i)
            for (int64_t j = 0; j < s.hidden; ++j) h[running.row[i] * s.hidden + j] = next[running.row[i] * s.hidden + j];
          storeStep(out, nout, s, d, first, running, (const T *)h);
        },
        [&](int64_t d, int64_t first, int64_t count)
            MOPT_LAMBDA { storeState(out, nout, 1, s, d, first, count, (const T *)h); },
        fault);
  });
}

// ONNX GRU: z = f(...), r = f(...), c = g(x * Wh + (r . h) * Rh + ...), or with linear_before_reset
// g(x * Wh + r . (h * Rh + Rbh) + Wbh); h = (1 - z) . c + z . h.
MOPT_REFERENCE_FUNCTION(gru) {
  RecurrentSlots slots = {MOPT_GRU_ACTIVATION_ALPHA, MOPT_GRU_ACTIVATION_BETA, MOPT_GRU_ACTIVATIONS, MOPT_GRU_CLIP,
                          MOPT_GRU_DIRECTION,        MOPT_GRU_HIDDEN_SIZE,     MOPT_GRU_LAYOUT};
  RecurrentShape s;
  if (int32_t status = recurrentShape(in, nin < recH + 1 ? nin : recH + 1, out, nout, attr, slots, 3, s, fault))
    return status;
  if (begin >= end) return MOPT_STEP_OK;
  const mopt_tensor *bias = operand(in, nin, recB), *initial = operand(in, nin, recH);
  bool linear = attrInt(attr, MOPT_GRU_LINEAR_BEFORE_RESET) != 0;
  enum { Z = 0, R = 1, C = 2 };
  return withFloat(in[recX].type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    constexpr int64_t lanes = Block<T>::lanes;
    T clip = (T)attrFloat(attr, slots.clip), h[recurrentState], update[recurrentState], reset[recurrentState];
    ActivationOf f, g;
    return runSequences(
        in, nin, out, nout, s, attrInt(attr, slots.direction),
        [&](int64_t d, int64_t first, int64_t count) MOPT_LAMBDA {
          loadState(initial, s, d, first, count, (T *)h);
          int32_t status = activationAt(attr, slots, 2 * d, Activation::sigmoid, f, fault);
          return status ? status : activationAt(attr, slots, 2 * d + 1, Activation::tanh, g, fault);
        },
        [&](int64_t d, int64_t first, const Running &running) MOPT_LAMBDA {
          // First sweep: z and r. With linear_before_reset the candidate too: its two sums stand in groups 2 and 3.
          for (int64_t unit = 0; unit < s.hidden; unit += lanes) {
            int64_t n = minOf(lanes, s.hidden - unit);
            Gate gates[4] = {{Z, unit, n, true, true},
                             {R, unit, n, true, true},
                             {C, unit, linear ? n : 0, true, false},
                             {C, unit, linear ? n : 0, false, true}};
            gateSums(in, s, d, running, (const T *)h, gates, [&](int64_t i, T *acc) MOPT_LAMBDA {
              int64_t at = running.row[i] * s.hidden + unit;
              T *z = acc, *r = acc + lanes, *x = acc + 2 * lanes, *rh = acc + 3 * lanes;
              addBias(bias, s, 3, d, Z, unit, n, true, true, z);
              addBias(bias, s, 3, d, R, unit, n, true, true, r);
              activate(f, clip, z, n);
              activate(f, clip, r, n);
              if (!linear) {
                for (int64_t j = 0; j < n; ++j) update[at + j] = z[j], reset[at + j] = r[j] * h[at + j];
                return;
              }
              addBias(bias, s, 3, d, C, unit, n, false, true, rh);
              addBias(bias, s, 3, d, C, unit, n, true, false, x);
              for (int64_t j = 0; j < n; ++j) x[j] = fmadd(r[j], rh[j], x[j]);
              activate(g, clip, x, n);
              for (int64_t j = 0; j < n; ++j) reset[at + j] = fmadd(z[j], h[at + j], ((T)1 - z[j]) * x[j]);
            });
          }
          if (linear) {
            for (int64_t i = 0; i < running.n; ++i)
              for (int64_t j = 0; j < s.hidden; ++j) h[running.row[i] * s.hidden + j] = reset[running.row[i] * s.hidden + j];
          } else {
            for (int64_t unit = 0; unit < s.hidden;
                 unit += 4 * lanes) { // second sweep: the candidate, now that r . h is complete
              Gate gates[4];
              for (int32_t k = 0; k < 4; ++k)
                gates[k] = {C, unit + k * lanes, maxOf(0, minOf(lanes, s.hidden - unit - k * lanes)), true, true};
              int64_t n = minOf(4 * lanes, s.hidden - unit);
              gateSums(in, s, d, running, (const T *)reset, gates, [&](int64_t i, T *acc) MOPT_LAMBDA {
                int64_t at = running.row[i] * s.hidden + unit;
                addBias(bias, s, 3, d, C, unit, n, true, true, acc);
                activate(g, clip, acc, n);
                for (int64_t j = 0; j < n; ++j)
                  h[at + j] = fmadd(update[at + j], h[at + j], ((T)1 - update[at + j]) * acc[j]);
              });
            }
          }
          storeStep(out, nout, s, d, first, running, (const T *)h);
        },
        [&](int64_t d, int64_t first, int64_t count)
            MOPT_LAMBDA { storeState(out, nout, 1, s, d, first, count, (const T *)h); },
        fault);
  });
}
