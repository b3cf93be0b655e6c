//===- RecurrentLSTM.cpp - LSTM -----------------------------------------------------------------------------------===//
//
// ONNX LSTM. Gates in the order i, o, f, c; peepholes i, o, f. clip holds the inputs of the gates; not that of h(c),
// though the text of ONNX can be read so: onnxruntime does not.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Recurrent.h"
using namespace mopt::ref;

MOPT_REFERENCE_FUNCTION(lstm) {
  RecurrentSlots slots = {MOPT_LSTM_ACTIVATION_ALPHA, MOPT_LSTM_ACTIVATION_BETA, MOPT_LSTM_ACTIVATIONS, MOPT_LSTM_CLIP,
                          MOPT_LSTM_DIRECTION,        MOPT_LSTM_HIDDEN_SIZE,     MOPT_LSTM_LAYOUT};
  enum { initialC = 6, peephole = 7 };
  RecurrentShape s;
  if (int32_t status = recurrentShape(in, nin, out, nout, attr, slots, 4, s, fault)) return status;
  const mopt_tensor *bias = operand(in, nin, recB), *p = operand(in, nin, peephole);
  if (p)
    if (int32_t status = expectDims(*p, peephole, s.directions, 3 * s.hidden, -1, fault)) return status;
  if (begin >= end) return MOPT_STEP_OK;
  bool coupled = attrInt(attr, MOPT_LSTM_INPUT_FORGET) != 0;
  enum { I = 0, O = 1, F = 2, C = 3 };
  return withFloat(in[recX].type, [&](auto zero) MOPT_LAMBDA -> int32_t {
    using T = decltype(zero);
    constexpr int64_t lanes = Block<T>::lanes;
    T clip = (T)attrFloat(attr, slots.clip), h[recurrentState], next[recurrentState], c[recurrentState];
    ActivationOf f, g, hidden;
    return runSequences(
        in, nin, out, nout, s, attrInt(attr, slots.direction),
        [&](int64_t d, int64_t first, int64_t count) MOPT_LAMBDA {
          loadState(operand(in, nin, recH), s, d, first, count, (T *)h);
          loadState(operand(in, nin, initialC), s, d, first, count, (T *)c);
          int32_t status = activationAt(attr, slots, 3 * d, Activation::sigmoid, f, fault);
          if (!status) status = activationAt(attr, slots, 3 * d + 1, Activation::tanh, g, fault);
          return status ? status : activationAt(attr, slots, 3 * d + 2, Activation::tanh, hidden, fault);
        },
        [&](int64_t d, int64_t first, const Running &running) MOPT_LAMBDA {
          for (int64_t unit = 0; unit < s.hidden; unit += lanes) {
            int64_t n = minOf(lanes, s.hidden - unit);
            Gate gates[4] = {
                {I, unit, n, true, true}, {O, unit, n, true, true}, {F, unit, n, true, true}, {C, unit, n, true, true}};
            gateSums(in, s, d, running, (const T *)h, gates, [&](int64_t i, T *acc) MOPT_LAMBDA {
              T *cell = c + running.row[i] * s.hidden + unit, *to = next + running.row[i] * s.hidden + unit;
              T *input = acc, *output = acc + lanes, *forget = acc + 2 * lanes, *candidate = acc + 3 * lanes;
              auto peep = [&](int64_t gate, T *sums) MOPT_LAMBDA {
                if (!p) return;
                T weight[lanes];
                loadRun((T *)weight, p->data, p->type, d * p->strides[0] + (gate * s.hidden + unit) * p->strides[1],
                        p->strides[1], n);
                for (int64_t j = 0; j < n; ++j) sums[j] = fmadd(weight[j], cell[j], sums[j]);
              };
              for (int32_t k = 0; k < 4; ++k) addBias(bias, s, 4, d, k, unit, n, true, true, acc + k * lanes);
              peep(I, input);
              activate(f, clip, input, n);
              if (coupled) {
                for (int64_t j = 0; j < n; ++j) forget[j] = (T)1 - input[j];
              } else {
                peep(F, forget);
                activate(f, clip, forget, n);
              }
              activate(g, clip, candidate, n);
              for (int64_t j = 0; j < n; ++j) cell[j] = fmadd(forget[j], cell[j], input[j] * candidate[j]);
              peep(O, output); // sees the new cell
              activate(f, clip, output, n);
              for (int64_t j = 0; j < n; ++j) candidate[j] = cell[j];
              activate(hidden, (T)0, candidate, n);
              for (int64_t j = 0; j < n; ++j) to[j] = output[j] * candidate[j];
            });
          }
          for (int64_t i = 0; i < running.n; ++i)
            for (int64_t j = 0; j < s.hidden; ++j) h[running.row[i] * s.hidden + j] = next[running.row[i] * s.hidden + j];
          storeStep(out, nout, s, d, first, running, (const T *)h);
        },
        [&](int64_t d, int64_t first, int64_t count) MOPT_LAMBDA {
          storeState(out, nout, 1, s, d, first, count, (const T *)h);
          storeState(out, nout, 2, s, d, first, count, (const T *)c);
        },
        fault);
  });
}
