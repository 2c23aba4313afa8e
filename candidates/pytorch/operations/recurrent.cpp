// LSTM, GRU and plain recurrent networks. Of each layer and direction: one launch multiplies the
// inputs of all time steps by the input's weights; in another a block owns one batch element and
// goes over time. Its threads own hidden units, and meet after each step.
#include <fmt/format.h>

#include <algorithm>

#include "candidates/pytorch/operations.h"
#include "candidates/pytorch/refusal.h"
#include "candidates/pytorch/sums.h"

namespace hone::pytorch {
namespace recurrent {
namespace {

enum class Cell { kLstm, kGru, kTanh, kRelu };

int gates_of(Cell cell) { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }

struct Weights {
  Tensor input, hidden;  ///< [gates * H, inputs], [gates * H, S]; S is H, or P of a projection
  std::optional<Tensor> input_bias, hidden_bias;
  std::optional<Tensor> projection;  ///< [P, H]: what the state, and the result, is made of
};

/// One layer in one direction.
struct Pass {
  Weights weights;
  Tensor before;                       ///< [N, S]: the state that it begins with
  std::optional<Tensor> c0;            ///< of an LSTM: [N, H]
  Tensor y;                            ///< [T, N, S]: its part of the layer's result
  std::optional<Tensor> last, last_c;  ///< the states that it ends with, where they are used
  bool backward = false;
};

/// [T, N, gates * H] = x W^T + b.
Tensor write_projection(Call& call, const Tensor& x, const Weights& weights, const Dim& gates) {
  Sizes& sizes = call.to.sizes;
  sizes.unify(weights.input.shape[1], x.shape[2]);
  const ScalarType type = x.type == ScalarType::kF64 ? ScalarType::kF64 : ScalarType::kF32;
  const Tensor projected = call.between(type, {x.shape[0], x.shape[1], gates}, "gates");
  Kernel kernel(call.to, "project_inputs", "x W^T + b at all time steps, one thread an element.");
  const auto from = kernel.in("x", x);
  const auto w = kernel.in("weight", weights.input);
  std::optional<Kernel::Operand> bias;
  if (weights.input_bias) bias = kernel.in("bias", *weights.input_bias);
  const auto to = kernel.out("gates", projected);
  const Indices at = kernel.each({{"t", x.shape[0]}, {"n", x.shape[1]}, {"g", gates}});
  const Sum sum(kernel, type, sizes.value(x.shape[2]));
  sum.begin("sum");
  kernel.loop("k", kernel.size("K", x.shape[2]));
  kernel.line(sum.add("sum", kernel.load(from, {at[0], at[1], "k"}), kernel.load(w, {at[2], "k"})));
  kernel.end();
  std::string value = sum.value("sum");
  if (bias) value += " + " + kernel.load(*bias, {at[2]});
  kernel.store(to, at, value);
  kernel.launch();
  return projected;
}

/// The kernel that goes over time.
class Recurrence {
 public:
  Recurrence(Call& call, Cell cell, const Pass& pass, const Tensor& gates)
      : call_(call),
        cell_(cell),
        pass_(pass),
        gates_(gates),
        kernel_(call.to, name(),
                "One block for each batch element: a thread for each hidden unit."),
        wide_(gates.type == ScalarType::kF64) {}

  void write() {
    Kernel& kernel = kernel_;
    const auto gates = kernel.in("gates", gates_);
    const auto w = kernel.in("weight", pass_.weights.hidden);
    std::optional<Kernel::Operand> bias, c0, c, last, last_c;
    if (pass_.weights.hidden_bias) bias = kernel.in("bias", *pass_.weights.hidden_bias);
    const auto h0 = kernel.in("h0", pass_.before);
    const auto y = kernel.inout("y", pass_.y);
    const Dim steps = pass_.y.shape[0], batch = pass_.y.shape[1], states = pass_.y.shape[2];
    const auto& projection = pass_.weights.projection;
    const Dim units = projection ? projection->shape[1] : states;
    std::optional<Kernel::Operand> project, unprojected;
    if (projection) {
      project = kernel.in("projection", *projection);
      unprojected = kernel.inout("hidden", call_.between(gates_.type, {batch, units}, "hidden"));
    }
    if (cell_ == Cell::kLstm) {
      c0 = kernel.in("c0", *pass_.c0);
      c = kernel.inout("c", call_.between(gates_.type, {batch, units}, "c"));
      if (pass_.last_c) last_c = kernel.out("c_last", *pass_.last_c);
    }
    if (pass_.last) last = kernel.out("h_last", *pass_.last);
    const std::string n = kernel.each_block({{"n", batch}})[0];
    const std::string t_count = kernel.size("T", steps), h_count = kernel.size("H", units);
    const std::string s_count = projection ? kernel.size("P", states) : h_count;
    kernel.loop("s", t_count);
    std::string now = "s", earlier = "s - 1";
    if (pass_.backward) {
      kernel.line(fmt::format("{} t = {} - 1 - s;", kernel.index_type(), t_count));
      now = "t";
      earlier = "t + 1";
    }
    begin_units(h_count);
    for (int gate = 0; gate < gates_of(cell_); ++gate) {
      const bool apart = cell_ == Cell::kGru && gate == 2;
      const std::string from = bias ? kernel.load(*bias, {row(gate, h_count)}) : zero();
      const std::string input = kernel.load(gates, {now, n, row(gate, h_count)});
      // The new gate of a GRU multiplies what comes from the state alone.
      kernel.line(fmt::format("{} {} = {};", type(), sum_of(gate),
                              apart  ? from
                              : bias ? input + " + " + from
                                     : input));
    }
    kernel.loop("k", s_count);
    kernel.line(fmt::format("{} state = s == 0 ? {} : {};", type(), kernel.load(h0, {n, "k"}),
                            kernel.load(y, {earlier, n, "k"})));
    for (int gate = 0; gate < gates_of(cell_); ++gate) {
      kernel.line(fmt::format("{} += state * {};", sum_of(gate),
                              kernel.load(w, {row(gate, h_count), "k"})));
    }
    kernel.end();
    std::string result;
    if (cell_ == Cell::kLstm) {
      kernel.line(fmt::format("{} cell = s == 0 ? {} : {};", type(), kernel.load(*c0, {n, "h"}),
                              kernel.load(*c, {n, "h"})));
      kernel.line(
          fmt::format("cell = {} * cell + {} * {};", sigmoid("f"), sigmoid("i"), tanh("g")));
      kernel.store(*c, {n, "h"}, "cell");
      result = fmt::format("{} * {}", sigmoid("o"), tanh("cell"));
    } else if (cell_ == Cell::kGru) {
      kernel.line(fmt::format("{} before = s == 0 ? {} : {};", type(), kernel.load(h0, {n, "h"}),
                              kernel.load(y, {earlier, n, "h"})));
      kernel.line(fmt::format("{} update = {};", type(), sigmoid("z")));
      kernel.line(
          fmt::format("{} fresh = {};", type(),
                      tanh(fmt::format("{} + {} * m", kernel.load(gates, {now, n, row(2, h_count)}),
                                       sigmoid("r")))));
      result = fmt::format("({} - update) * fresh + update * before", one());
    } else {
      result = cell_ == Cell::kTanh ? tanh("a") : fmt::format("a < {} ? {} : a", zero(), zero());
    }
    if (projection) {
      kernel.store(*unprojected, {n, "h"}, result);
    } else {
      kernel.store(y, {now, n, "h"}, stored_as(pass_.y.type, result));
    }
    kernel.end();
    kernel.line("__syncthreads();");
    if (projection) {
      kernel.begin(fmt::format("for (int p = threadIdx.x; p < {}; p += blockDim.x)", s_count));
      kernel.line(fmt::format("{} sum = {};", type(), zero()));
      kernel.loop("k", h_count);
      kernel.line(fmt::format("sum += {} * {};", kernel.load(*project, {"p", "k"}),
                              kernel.load(*unprojected, {n, "k"})));
      kernel.end();
      kernel.store(y, {now, n, "p"}, stored_as(pass_.y.type, "sum"));
      kernel.end();
      kernel.line("__syncthreads();");
    }
    kernel.end();
    const std::string final = pass_.backward ? "0" : fmt::format("{} - 1", t_count);
    if (last && projection) {
      kernel.begin(fmt::format("for (int p = threadIdx.x; p < {}; p += blockDim.x)", s_count));
      kernel.store(*last, {n, "p"}, kernel.load_raw(y, {final, n, "p"}));
      kernel.end();
    }
    if ((last && !projection) || last_c) {
      begin_units(h_count);
      if (last && !projection) {
        kernel.store(*last, {n, "h"}, kernel.load_raw(y, {final, n, "h"}));
      }
      if (last_c) {
        kernel.store(*last_c, {n, "h"}, stored_as(pass_.last_c->type, kernel.load(*c, {n, "h"})));
      }
      kernel.end();
    }
    const std::int64_t count = call_.to.sizes.value(units);
    kernel.launch_blocks(static_cast<int>(std::min<std::int64_t>((count + 31) / 32 * 32, 1024)));
  }

 private:
  [[nodiscard]] std::string name() const {
    switch (cell_) {
      case Cell::kLstm:
        return "lstm";
      case Cell::kGru:
        return "gru";
      case Cell::kTanh:
        return "rnn_tanh";
      case Cell::kRelu:
        return "rnn_relu";
    }
    return "";
  }
  void begin_units(const std::string& count) {
    kernel_.begin(fmt::format("for (int h = threadIdx.x; h < {}; h += blockDim.x)", count));
  }
  static std::string row(int gate, const std::string& count) {
    return gate == 0   ? "h"
           : gate == 1 ? fmt::format("{} + h", count)
                       : fmt::format("{} * {} + h", gate, count);
  }
  /// PyTorch's order of gates: i, f, g, o of an LSTM; r, z, n of a GRU, whose part of the state is
  /// m.
  [[nodiscard]] std::string sum_of(int gate) const {
    static const char* const kLstm[] = {"i", "f", "g", "o"};
    static const char* const kGru[] = {"r", "z", "m"};
    return cell_ == Cell::kLstm ? kLstm[gate] : cell_ == Cell::kGru ? kGru[gate] : "a";
  }
  [[nodiscard]] std::string type() const { return wide_ ? "double" : "float"; }
  [[nodiscard]] std::string zero() const { return wide_ ? "0.0" : "0.0f"; }
  [[nodiscard]] std::string one() const { return wide_ ? "1.0" : "1.0f"; }
  [[nodiscard]] std::string sigmoid(const std::string& value) const {
    return wide_ ? fmt::format("(1.0 / (1.0 + exp(-{})))", value)
                 : fmt::format("(1.0f / (1.0f + expf(-{})))", value);
  }
  [[nodiscard]] std::string tanh(const std::string& value) const {
    return fmt::format("tanh{}({})", wide_ ? "" : "f", value);
  }

  Call& call_;
  Cell cell_;
  const Pass& pass_;
  Tensor gates_;
  Kernel kernel_;
  bool wide_;
};

/// One of the first dimension.
Tensor part(Tensor tensor, std::int64_t index) {
  tensor.offset += Dim(index) * tensor.strides[0];
  tensor.shape.erase(tensor.shape.begin());
  tensor.strides.erase(tensor.strides.begin());
  return tensor;
}

std::vector<Tensor> tensors_of(const Call& call, std::string_view name) {
  std::vector<Tensor> tensors;
  for (const auto& tensor : call.tensors(name)) {
    if (!tensor) refuse("has an absent tensor in '{}'", name);
    tensors.push_back(*tensor);
  }
  return tensors;
}

void write_network(Call& call, Cell cell) {
  Sizes& sizes = call.to.sizes;
  Tensor x = call.tensor("input");
  if (x.rank() != 3) refuse("has an input of {} dimensions", x.rank());
  const bool lstm = cell == Cell::kLstm, batch_first = call.flag("batch_first", false);
  const std::int64_t layers = call.whole("num_layers");
  const int directions = call.flag("bidirectional", false) ? 2 : 1;
  const bool biases = call.flag("has_biases", true);
  if (call.flag("train", false) && call.number("dropout", 0) != 0 && layers > 1) {
    refuse("drops elements between its layers at random; export the module in eval mode");
  }
  const std::vector<Tensor> states =
      lstm ? tensors_of(call, "hx") : std::vector<Tensor>{call.tensor("hx")};
  if (states.size() != (lstm ? 2U : 1U)) refuse("has {} states", states.size());
  const std::vector<Tensor> params = tensors_of(call, "params");
  const std::size_t passes = params.size() / (biases ? 4 : 2);
  const auto expected = static_cast<std::size_t>(std::max<std::int64_t>(layers, 0) * directions);
  // With proj_size there is one more weight of each layer and direction.
  const bool projects = lstm && params.size() == (biases ? 5U : 3U) * expected;
  if (layers < 1 || (!projects && (passes != expected || params.size() % (biases ? 4 : 2) != 0))) {
    refuse("has {} weights for {} layers", params.size(), layers);
  }
  if (batch_first) x = permuted(x, {1, 0, 2});
  const Dim steps = x.shape[0], batch = x.shape[1];
  const Dim state_units = states[0].shape.back(), units = states.back().shape.back();
  for (const Tensor& state : states) {
    if (state.rank() != 3) refuse("has a state of {} dimensions", state.rank());
    sizes.unify(state.shape[0], Dim(layers * directions));
    sizes.unify(state.shape[1], batch);
    if (!projects) sizes.unify(state.shape[2], units);
  }
  const Dim width = Dim(directions) * state_units, gates = Dim(gates_of(cell)) * units;
  const Tensor whole = call.make(batch_first ? std::vector<Dim>{batch, steps, width}
                                             : std::vector<Dim>{steps, batch, width});
  std::optional<Tensor> last, last_c;
  const std::vector<Dim> state_shape = {Dim(layers * directions), batch, state_units};
  const std::vector<Dim> cell_shape = {Dim(layers * directions), batch, units};
  for (std::size_t i = 1; lstm && i < call.results(); ++i) {
    const auto& said = call.extents(i);
    if (said.size() == 4 && said[1] == 1) call.to.doubt_ones();
  }
  if (call.is_used(1)) last = call.make(state_shape, 1);
  if (lstm && call.is_used(2)) last_c = call.make(cell_shape, 2);
  std::size_t next = 0;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    Tensor y =
        layer + 1 == layers ? whole : call.between(whole.type, {steps, batch, width}, "layer");
    if (layer + 1 == layers && batch_first) y = permuted(y, {1, 0, 2});
    for (int direction = 0; direction < directions; ++direction) {
      const std::int64_t index = layer * directions + direction;
      Pass pass;
      pass.weights.input = params[next++];
      pass.weights.hidden = params[next++];
      if (biases) pass.weights.input_bias = params[next++];
      if (biases) pass.weights.hidden_bias = params[next++];
      for (const Tensor& weight : {pass.weights.input, pass.weights.hidden}) {
        if (weight.rank() != 2) refuse("has a weight of {} dimensions", weight.rank());
        sizes.unify(weight.shape[0], gates);
      }
      sizes.unify(pass.weights.hidden.shape[1], state_units);
      if (projects) {
        pass.weights.projection = params[next++];
        if (pass.weights.projection->rank() != 2) refuse("has a projection that is no matrix");
        sizes.unify(pass.weights.projection->shape[0], state_units);
        sizes.unify(pass.weights.projection->shape[1], units);
      }
      if (biases) {
        sizes.unify(pass.weights.input_bias->shape[0], gates);
        sizes.unify(pass.weights.hidden_bias->shape[0], gates);
      }
      pass.before = part(states[0], index);
      if (lstm) pass.c0 = part(states[1], index);
      pass.y = y;
      pass.y.shape[2] = state_units;
      pass.y.offset += Dim(direction) * state_units * y.strides[2];
      if (last) pass.last = part(*last, index);
      if (last_c) pass.last_c = part(*last_c, index);
      pass.backward = direction == 1;
      const Tensor projected = write_projection(call, x, pass.weights, gates);
      Recurrence(call, cell, pass, projected).write();
    }
    x = y;
  }
}

/// One time step of one layer.
void write_cell(Call& call, Cell cell) {
  Sizes& sizes = call.to.sizes;
  Tensor x = call.tensor("input");
  const bool lstm = cell == Cell::kLstm;
  const std::vector<Tensor> states =
      lstm ? tensors_of(call, "hx") : std::vector<Tensor>{call.tensor("hx")};
  if (states.size() != (lstm ? 2U : 1U)) refuse("has {} states", states.size());
  if (x.rank() != 2) refuse("has an input of {} dimensions", x.rank());
  x.shape.insert(x.shape.begin(), 1);
  x.strides.insert(x.strides.begin(), 0);
  for (const Tensor& state : states) {
    if (state.rank() != 2) refuse("has a state of {} dimensions", state.rank());
    sizes.unify(state.shape[0], x.shape[1]);
    sizes.unify(state.shape[1], states[0].shape[1]);
  }
  const Dim units = states[0].shape[1], gates = Dim(gates_of(cell)) * units;
  Pass pass;
  pass.weights.input = call.tensor("w_ih");
  pass.weights.hidden = call.tensor("w_hh");
  pass.weights.input_bias = call.maybe_tensor("b_ih");
  pass.weights.hidden_bias = call.maybe_tensor("b_hh");
  for (const Tensor& weight : {pass.weights.input, pass.weights.hidden}) {
    if (weight.rank() != 2) refuse("has a weight of {} dimensions", weight.rank());
    sizes.unify(weight.shape[0], gates);
  }
  sizes.unify(pass.weights.hidden.shape[1], units);
  for (const auto& bias : {pass.weights.input_bias, pass.weights.hidden_bias}) {
    if (bias) sizes.unify(bias->shape[0], gates);
  }
  pass.before = states[0];
  if (lstm) pass.c0 = states[1];
  pass.y = call.make(states[0].shape);
  pass.y.shape.insert(pass.y.shape.begin(), 1);
  pass.y.strides.insert(pass.y.strides.begin(), 0);
  if (lstm && call.is_used(1)) pass.last_c = call.make(states[1].shape, 1);
  Recurrence(call, cell, pass, write_projection(call, x, pass.weights, gates)).write();
}

void lstm_cell(Call& call) { write_cell(call, Cell::kLstm); }
void gru_cell(Call& call) { write_cell(call, Cell::kGru); }
void rnn_tanh_cell(Call& call) { write_cell(call, Cell::kTanh); }
void rnn_relu_cell(Call& call) { write_cell(call, Cell::kRelu); }

void lstm(Call& call) { write_network(call, Cell::kLstm); }
void gru(Call& call) { write_network(call, Cell::kGru); }
void rnn_tanh(Call& call) { write_network(call, Cell::kTanh); }
void rnn_relu(Call& call) { write_network(call, Cell::kRelu); }

constexpr Operation kOperations[] = {
    {"aten.lstm.input", lstm},
    {"aten.gru.input", gru},
    {"aten.rnn_tanh.input", rnn_tanh},
    {"aten.rnn_relu.input", rnn_relu},
    {"aten.lstm_cell.default", lstm_cell},
    {"aten.gru_cell.default", gru_cell},
    {"aten.rnn_tanh_cell.default", rnn_tanh_cell},
    {"aten.rnn_relu_cell.default", rnn_relu_cell},
};

}  // namespace
}  // namespace recurrent

std::span<const Operation> recurrent_operations() { return recurrent::kOperations; }

}  // namespace hone::pytorch
