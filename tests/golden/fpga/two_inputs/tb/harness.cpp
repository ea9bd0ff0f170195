// Runs net_top under Verilator: sends frames from files, stalls both sides at random on
// request, writes the output frames to files, and prints the cycles of all frames as JSON.
//
//   verilator --cc --exe --build -O3 --prefix Vtop --top-module net_top \
//     rtl/net_core.sv rtl/net_top.sv tb/harness.cpp
//   obj_dir/Vtop --frames 2 --in in0.bin --in in1.bin --out out0.bin
//
// Options: --frames N, --in FILE and --out FILE (one for each port, in the order of the wrapper's
// ports; N frames one after the other, elements little-endian), --seed N, --stall-in P and
// --stall-out P (probability of a stalled cycle in 1/256), --reset-after N (send N beats, reset,
// start again), --limit N (total cycles), --idle N (cycles without a transfer), --waves FILE (a
// waveform, if Verilator was given --trace or --trace-fst).
// Exit status: 0 done, 1 bad option or file, 2 limit exceeded, 3 an output violated the protocol.

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "Vtop.h"
#include "verilated.h"
#if VM_TRACE && VM_TRACE_FST
#include "verilated_fst_c.h"
#elif VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace {

constexpr std::size_t kInputs = 2;
constexpr std::size_t kOutputs = 1;
constexpr int kSettle = 64;  // cycles watched after the last beat

struct Shape {
  std::size_t beat_bytes;
  std::size_t beats;

  std::size_t start(std::uint64_t beat) const { return beat * beat_bytes; }
  std::size_t valid(std::uint64_t) const { return beat_bytes; }
};

constexpr Shape kInputShapes[kInputs] = {
    {3, 24},  // s0_axis
    {3, 24},  // s1_axis
};
constexpr Shape kOutputShapes[kOutputs] = {
    {3, 48},  // m_axis
};

// A signal of up to 64 bits, or of more (an array of 32-bit words), as bytes, lowest first.
template <typename T>
void put(T& signal, const std::uint8_t* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; i++) value |= std::uint64_t{bytes[i]} << (8 * i);
  signal = static_cast<T>(value);
}

template <std::size_t N>
void put(VlWide<N>& signal, const std::uint8_t* bytes, std::size_t count) {
  for (std::size_t i = 0; i < N; i++) signal[i] = 0;
  for (std::size_t i = 0; i < count; i++) {
    signal[i / 4] |= std::uint32_t{bytes[i]} << (8 * (i % 4));
  }
}

template <typename T>
void get(const T& signal, std::uint8_t* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; i++) {
    bytes[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(signal) >> (8 * i));
  }
}

template <std::size_t N>
void get(const VlWide<N>& signal, std::uint8_t* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; i++) {
    bytes[i] = static_cast<std::uint8_t>(signal[i / 4] >> (8 * (i % 4)));
  }
}

void drive(Vtop& top, std::size_t port, bool valid, const std::uint8_t* beat, std::size_t count,
           bool last) {
  switch (port) {
    case 0:
      top.s0_axis_tvalid = valid;
      top.s0_axis_tlast = last;
      put(top.s0_axis_tdata, beat, count);
      break;
    case 1:
      top.s1_axis_tvalid = valid;
      top.s1_axis_tlast = last;
      put(top.s1_axis_tdata, beat, count);
      break;
  }
}

bool input_ready(const Vtop& top, std::size_t port) {
  switch (port) {
    case 0: return top.s0_axis_tready;
    case 1: return top.s1_axis_tready;
  }
  return false;
}

void drain(Vtop& top, std::size_t port, bool ready) {
  switch (port) {
    case 0: top.m_axis_tready = ready; break;
  }
}

bool output_valid(const Vtop& top, std::size_t port, std::uint8_t* beat, bool* last) {
  switch (port) {
    case 0:
      get(top.m_axis_tdata, beat, 3);
      *last = top.m_axis_tlast;
      return top.m_axis_tvalid;
  }
  return false;
}

struct Options {
  std::uint64_t frames = 1;
  std::uint64_t seed = 1;
  std::uint64_t stall_in = 0;
  std::uint64_t stall_out = 0;
  std::uint64_t reset_after = 0;
  std::uint64_t limit = UINT64_MAX;
  std::uint64_t idle = 10000000;
  std::vector<std::string> in;
  std::vector<std::string> out;
  std::string waves;
};

[[noreturn]] void fail(int status, const std::string& text) {
  std::fprintf(stderr, "harness: %s\n", text.c_str());
  std::exit(status);
}

bool number(const std::string& name, const char* value, Options& options) {
  const struct {
    const char* name;
    std::uint64_t* value;
  } known[] = {
      {"--frames", &options.frames},       {"--seed", &options.seed},
      {"--stall-in", &options.stall_in},   {"--stall-out", &options.stall_out},
      {"--limit", &options.limit},         {"--idle", &options.idle},
      {"--reset-after", &options.reset_after},
  };
  for (const auto& option : known) {
    if (name == option.name) {
      *option.value = std::strtoull(value, nullptr, 10);
      return true;
    }
  }
  return false;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i++) {
    const std::string name = argv[i];
    if (name.rfind("+verilator+", 0) == 0) continue;
    if (i + 1 == argc) fail(1, name + " needs a value");
    const char* value = argv[++i];
    if (name == "--in") {
      options.in.emplace_back(value);
    } else if (name == "--out") {
      options.out.emplace_back(value);
    } else if (name == "--waves") {
      options.waves = value;
    } else if (!number(name, value, options)) {
      fail(1, "unknown option " + name);
    }
  }
  if (options.in.size() != kInputs || options.out.size() != kOutputs) {
    fail(1, "needs --in " + std::to_string(kInputs) + " times and --out " +
                std::to_string(kOutputs) + " times");
  }
  return options;
}

std::vector<std::uint8_t> read_file(const std::string& path, std::size_t bytes) {
  std::vector<std::uint8_t> content(bytes);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) fail(1, "cannot open " + path);
  const std::size_t count = std::fread(content.data(), 1, bytes, file);
  std::fclose(file);
  if (count != bytes) fail(1, path + " holds fewer frames than --frames");
  return content;
}

void write_file(const std::string& path, const std::vector<std::uint8_t>& content) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) fail(1, "cannot open " + path);
  const std::size_t count = std::fwrite(content.data(), 1, content.size(), file);
  if (std::fclose(file) != 0 || count != content.size()) fail(1, "cannot write " + path);
}

// xorshift64*: the same stalls for the same seed on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  bool stall(std::uint64_t of_256) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return ((state_ * 0x2545F4914F6CDD1Du) >> 56) < of_256;
  }

 private:
  std::uint64_t state_;
};

struct Source {
  std::vector<std::uint8_t> data;
  std::uint64_t next = 0;  // beat to send
  bool offered = false;    // valid must stay high until the beat is accepted
};

struct Sink {
  std::vector<std::uint8_t> data;
  std::uint64_t next = 0;  // beat to receive
  bool waiting = false;    // the beat in `held` was valid and not accepted
  std::vector<std::uint8_t> held;
};

struct Frame {
  std::uint64_t first_in = UINT64_MAX;
  std::uint64_t last_in = 0;
  std::uint64_t first_out = UINT64_MAX;
  std::uint64_t last_out = 0;
};

// Writes every change of every signal to a file, if one was asked for.
class Waves {
 public:
  Waves(Vtop& top, VerilatedContext& context, const std::string& path) : context_(context) {
    if (path.empty()) return;
#if VM_TRACE
    context.traceEverOn(true);
    top.trace(&file_, 99);
    file_.open(path.c_str());
    if (!file_.isOpen()) fail(1, "cannot write " + path);
#else
    fail(1, "--waves needs a build with --trace or --trace-fst");
#endif
  }
#if VM_TRACE
  ~Waves() {
    if (file_.isOpen()) file_.close();
  }
  void dump() {
    if (file_.isOpen()) file_.dump(context_.time());
  }
#else
  void dump() {}
#endif

 private:
  VerilatedContext& context_;
#if VM_TRACE && VM_TRACE_FST
  VerilatedFstC file_;
#elif VM_TRACE
  VerilatedVcdC file_;
#endif
};

class Bench {
 public:
  Bench(Vtop& top, VerilatedContext& context, const Options& options)
      : top_(top),
        context_(context),
        options_(options),
        random_(options.seed),
        waves_(top, context, options.waves) {
    for (std::size_t p = 0; p < kInputs; p++) {
      const Shape& shape = kInputShapes[p];
      sources_[p].data =
          read_file(options.in[p], shape.start(shape.beats * options.frames));
    }
    for (std::size_t p = 0; p < kOutputs; p++) {
      const Shape& shape = kOutputShapes[p];
      sinks_[p].data.resize(shape.start(shape.beats * options.frames));
      sinks_[p].held.resize(shape.beat_bytes);
    }
    frames_.resize(options.frames);
  }

  int run() {
    reset();
    if (options_.reset_after != 0) {
      while (sent_ < options_.reset_after && !done() && !stuck()) step();
      reset();
    }
    while (!done() && !stuck()) step();
    report();
    // Nothing may come after the last frame.
    for (int i = 0; i < kSettle && !broken_; i++) step();
    if (broken_) return 3;
    return done() ? 0 : 2;
  }

  void save() const {
    for (std::size_t p = 0; p < kOutputs; p++) write_file(options_.out[p], sinks_[p].data);
  }

 private:
  void reset() {
    for (auto& source : sources_) source.next = 0, source.offered = false;
    for (auto& sink : sinks_) sink.next = 0, sink.waiting = false;
    frames_.assign(options_.frames, Frame{});
    sent_ = 0;
    for (std::size_t p = 0; p < kInputs; p++) drive(top_, p, false, sources_[p].data.data(), 0, false);
    for (std::size_t p = 0; p < kOutputs; p++) drain(top_, p, false);
    top_.rst_ni = 0;
    for (int i = 0; i < 3; i++) edge();
    top_.rst_ni = 1;
    total_ += cycle_;
    cycle_ = 0;
    moved_ = 0;
  }

  void edge() {
    top_.clk_i = 0;
    settle();
    top_.clk_i = 1;
    settle();
  }

  // Evaluate, dump the waveform, and advance by half a cycle.
  void settle() {
    top_.eval();
    waves_.dump();
    context_.timeInc(5);
  }

  void step() {
    for (std::size_t p = 0; p < kInputs; p++) offer(p);
    bool ready[kOutputs];
    for (std::size_t p = 0; p < kOutputs; p++) {
      ready[p] = !random_.stall(options_.stall_out);
      drain(top_, p, ready[p]);
    }
    top_.clk_i = 0;
    top_.eval();
    for (std::size_t p = 0; p < kInputs; p++) {
      if (sources_[p].offered && input_ready(top_, p)) sent(p);
    }
    for (std::size_t p = 0; p < kOutputs; p++) watch(p, ready[p]);
    waves_.dump();
    context_.timeInc(5);
    top_.clk_i = 1;
    settle();
    cycle_++;
  }

  void offer(std::size_t p) {
    Source& source = sources_[p];
    const Shape& shape = kInputShapes[p];
    if (source.next == shape.beats * options_.frames) {
      source.offered = false;
    } else if (!source.offered) {
      source.offered = !random_.stall(options_.stall_in);
    }
    const std::uint64_t beat = source.offered ? source.next : 0;
    drive(top_, p, source.offered, source.data.data() + shape.start(beat), shape.valid(beat),
          source.offered && (beat + 1) % shape.beats == 0);
  }

  void sent(std::size_t p) {
    Frame& frame = frames_[sources_[p].next / kInputShapes[p].beats];
    if (cycle_ < frame.first_in) frame.first_in = cycle_;
    frame.last_in = cycle_;
    sources_[p].next++;
    sources_[p].offered = false;
    sent_++;
    moved_ = cycle_;
  }

  void watch(std::size_t p, bool ready) {
    Sink& sink = sinks_[p];
    const Shape& shape = kOutputShapes[p];
    std::vector<std::uint8_t> beat(shape.beat_bytes);
    bool last = false;
    const bool valid = output_valid(top_, p, beat.data(), &last);
    if (sink.waiting && (!valid || beat != sink.held)) {
      complain(p, "changed a beat that was not accepted yet");
    }
    sink.waiting = valid && !ready;
    sink.held = beat;
    if (valid && ready) received(p, beat, last);
  }

  void received(std::size_t p, const std::vector<std::uint8_t>& beat, bool last) {
    Sink& sink = sinks_[p];
    const Shape& shape = kOutputShapes[p];
    if (sink.next == shape.beats * options_.frames) {
      complain(p, "sent more beats than the frames have");
      return;
    }
    if (last != ((sink.next + 1) % shape.beats == 0)) complain(p, "has tlast in the wrong place");
    Frame& frame = frames_[sink.next / shape.beats];
    if (cycle_ < frame.first_out) frame.first_out = cycle_;
    frame.last_out = cycle_;
    std::memcpy(sink.data.data() + shape.start(sink.next), beat.data(), shape.valid(sink.next));
    sink.next++;
    moved_ = cycle_;
  }

  void complain(std::size_t p, const char* what) {
    if (!broken_) {
      std::fprintf(stderr, "harness: output %zu %s in cycle %" PRIu64 "\n", p, what, cycle_);
    }
    broken_ = true;
  }

  bool done() const {
    for (std::size_t p = 0; p < kInputs; p++) {
      if (sources_[p].next != kInputShapes[p].beats * options_.frames) return false;
    }
    for (std::size_t p = 0; p < kOutputs; p++) {
      if (sinks_[p].next != kOutputShapes[p].beats * options_.frames) return false;
    }
    return true;
  }

  bool stuck() const {
    return broken_ || total_ + cycle_ >= options_.limit || cycle_ - moved_ >= options_.idle;
  }

  void report() const {
    std::printf("{\"done\": %s, \"cycles\": %" PRIu64 ", \"frames\": [", done() ? "true" : "false",
                total_ + cycle_);
    const char* separator = "";
    for (const Frame& frame : frames_) {
      if (frame.first_in == UINT64_MAX || frame.first_out == UINT64_MAX) continue;
      std::printf("%s\n  {\"first_in\": %" PRIu64 ", \"last_in\": %" PRIu64
                  ", \"first_out\": %" PRIu64 ", \"last_out\": %" PRIu64 "}",
                  separator, frame.first_in, frame.last_in, frame.first_out, frame.last_out);
      separator = ",";
    }
    std::printf("]}\n");
  }

  Vtop& top_;
  VerilatedContext& context_;
  const Options& options_;
  Random random_;
  Waves waves_;
  Source sources_[kInputs];
  Sink sinks_[kOutputs];
  std::vector<Frame> frames_;
  std::uint64_t cycle_ = 0;  // since the last reset
  std::uint64_t total_ = 0;  // before it
  std::uint64_t moved_ = 0;  // cycle of the last transfer
  std::uint64_t sent_ = 0;   // beats since the last reset
  bool broken_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  VerilatedContext context;
  context.commandArgs(argc, argv);
  Vtop top{&context, ""};  // waveforms begin with the wrapper, as those of cocotb
  Bench bench(top, context, options);
  const int status = bench.run();
  if (status == 0) bench.save();
  top.final();
  return status;
}
