#include "network/state_dict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "io/element.h"
#include "network/pickle_builder.h"
#include "network/support.h"

namespace mdsm::network {
namespace {

using Storages = std::vector<std::pair<std::string, TestStorage>>;

StateDict read(const std::string& file) { return read_state_dict(std::as_bytes(std::span(file)), "file.pt"); }

// A whole network in pieces for the builders, with DataParallel names and unused entries when asked for.
struct NetworkFile {
  std::string object;
  Storages storages;
};
NetworkFile pieces(const Parameters& parameters, const std::string& prefix = "", bool unused = false) {
  NetworkFile file;
  std::vector<std::pair<std::string, std::string>> entries;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape, std::string data,
                       const std::string& type, size_t width) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    const std::string key = std::to_string(entries.size());
    const auto count = static_cast<int64_t>(data.size() / width);
    entries.emplace_back(prefix + name, pickle::tensor(pickle::storage(type, key, count), 0, shape, strides));
    file.storages.emplace_back(key, TestStorage{type, std::move(data), width});
  };
  for (const auto& info : parameters.layout())
    add(info.name, info.shape, floats(parameters.at(info)), "FloatStorage", 4);
  const std::vector<float> ones(4 * 16 * 16, 1.0f);
  if (unused)
    for (const char* name : {"rb1.bn1.weight", "rb1.bn1.bias", "rb3.bn2.weight", "rb3.bn2.bias"})
      add(name, {4, 16, 16}, floats(ones), "FloatStorage", 4);
  if (unused) add("counter", {}, raw(int64_t{7}), "LongStorage", 8);
  file.object = pickle::dict(entries);
  return file;
}

std::string legacy(const NetworkFile& file) { return legacy_file(file.object, file.storages); }

void expect_same(const ImportedParameters& imported, const Parameters& parameters) {
  EXPECT_EQ(imported.parameters.spec(), parameters.spec());
  EXPECT_TRUE(std::ranges::equal(imported.parameters.values(), parameters.values()));
}

TEST(StateDict, WrittenFilesComeBackForEveryNetwork) {
  const TemporaryFolder folder;
  for (const Network network : {Network::res6, Network::res12, Network::res18, Network::res34})
    for (const Head head : {Head::quadratic, Head::linear}) {
      const Parameters parameters = Parameters::initialised(small_spec(network, head, 3), 5);
      write_state_dict(folder / "x.pt", parameters);
      const auto imported = parameters_from(read_state_dict(folder / "x.pt"), {}, "x.pt");
      expect_same(imported, parameters);
      EXPECT_TRUE(imported.skipped.empty());
    }
}

TEST(StateDict, StoragesStartOnMultiplesOf64) {
  const TemporaryFolder folder;
  write_state_dict(folder / "x.pt", Parameters(small_spec()));
  const std::vector<std::byte> file = read_bytes(folder / "x.pt");
  for (const auto& [name, content] : io::read_zip(file, "x.pt"))
    EXPECT_EQ((content.data() - file.data()) % 64, 0) << name;
}

TEST(StateDict, BothContainersWithDataParallelNamesAndUnusedEntries) {
  const TemporaryFolder folder;
  const Parameters parameters = Parameters::initialised(small_spec(), 2);
  const NetworkFile file = pieces(parameters, "module.", true);
  for (const std::string& bytes : {legacy(file), zip_file(folder / "z", file.object, file.storages)}) {
    const auto imported = parameters_from(read(bytes), {}, "file.pt");
    expect_same(imported, parameters);
    EXPECT_EQ(imported.skipped, (std::vector<std::string>{"counter", "rb1.bn1.bias", "rb1.bn1.weight",
                                                          "rb3.bn2.bias", "rb3.bn2.weight"}));
  }
}

TEST(StateDict, SizeAndSigmaAreFound) {
  Spec spec = small_spec(Network::res34, Head::linear, 2);
  spec.size = 48;
  spec.width = 8;
  const NetworkFile file = pieces(Parameters::initialised(spec, 2));
  const auto imported = parameters_from(read(legacy(file)), {.sigma0 = 0.25}, "file.pt");
  spec.sigma0 = 0.25;
  EXPECT_EQ(imported.parameters.spec(), spec);
}

TEST(StateDict, OffsetsStridesViewsParametersAndTypes) {
  const std::vector<float> data = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::string view = "(" + pickle::text("v") + pickle::number(2) + pickle::number(6) + "t";
  const std::string halves = raw(io::half_from_float(0.5f)) + raw(io::half_from_float(-3.0f));
  const std::string object = pickle::dict(
      {{"transposed", pickle::tensor(pickle::storage("FloatStorage", "0", 10), 1, {3, 2}, {1, 3})},
       {"view", pickle::tensor(pickle::storage("FloatStorage", "0", 10, view), 1, {2, 2}, {2, 1})},
       {"parameter", pickle::parameter(pickle::tensor(pickle::storage("FloatStorage", "0", 10), 9, {}, {}))},
       {"half", pickle::tensor(pickle::storage("HalfStorage", "1", 2), 0, {2}, {1})},
       {"empty", pickle::tensor(pickle::storage("FloatStorage", "0", 10), 0, {0, 5}, {5, 1})}});
  const StateDict dict = read(
      legacy_file(object, {{"0", {"FloatStorage", floats(data), 4}}, {"1", {"HalfStorage", halves, 2}}}));
  EXPECT_EQ(dict.at("transposed").values, (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(dict.at("view").values, (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(dict.at("parameter").values, (std::vector<float>{9}));
  EXPECT_EQ(dict.at("half").values, (std::vector<float>{0.5f, -3.0f}));
  EXPECT_TRUE(dict.at("empty").values.empty());
}

TEST(StateDict, CheckpointsHoldingOneDictOfTensors) {
  const Parameters parameters = Parameters::initialised(small_spec(), 2);
  NetworkFile file = pieces(parameters);
  const std::string inner = file.object;
  file.object = pickle::dict({{"epoch", pickle::number(3)},
                              {"netE", inner},
                              {"optimiser", pickle::dict({{"lr", "G" + std::string(8, '\0')}})}});
  expect_same(parameters_from(read(legacy(file)), {}, "file.pt"), parameters);
  file.object = pickle::dict({{"netE", inner}, {"netD", inner}});
  EXPECT_ERROR(read(legacy(file)), "holds 2 dicts of tensors");
  file.object = pickle::dict({{"epoch", pickle::number(3)}});
  file.storages.clear();
  EXPECT_ERROR(read(legacy(file)), "no dict of tensors");
}

void refuses(const std::string& object, const char* part) {
  const Storages storages = {{"0", {"FloatStorage", std::string(40, '\0'), 4}}};
  const std::string whole = pickle::dict(
      {{"a", pickle::tensor(pickle::storage("FloatStorage", "0", 10), 0, {1}, {1})}, {"b", object}});
  EXPECT_ERROR(read(legacy_file(whole, storages)), part);
}

TEST(StateDict, RefusesCodeByItsName) {
  refuses("cposix\nsystem\n(" + pickle::text("echo") + "tR", "'posix.system'");
  refuses(pickle::text("builtins") + pickle::text("eval") + "\x93)R", "'builtins.eval'");
  refuses("ctorch\nTensor\n)R", "'torch.Tensor'");
  refuses("\x81", "opcode 0x81");
  refuses(pickle::tensor(pickle::storage("FloatStorage", "0", 10), 0, {1}, {1}) + "}b", "state of its own");
  refuses("I1\n", "opcode 0x49");
}

TEST(StateDict, RefusesTensorsOutsideTheirStorage) {
  const std::string storage = pickle::storage("FloatStorage", "0", 10);
  constexpr int64_t kHuge = int64_t{1} << 62;
  refuses(pickle::tensor(storage, 0, {11}, {1}), "beyond its storage");
  refuses(pickle::tensor(storage, 10, {1}, {1}), "beyond its storage");
  refuses(pickle::tensor(storage, -1, {1}, {1}), "beyond its storage");
  refuses(pickle::tensor(storage, 0, {4, 3}, {3, 1}), "beyond its storage");
  refuses(pickle::tensor(storage, 0, {1000}, {0}), "beyond its storage");
  refuses(pickle::tensor(storage, 0, {kHuge, 4}, {0, 1}), "beyond its storage");
  refuses(pickle::tensor(storage, 0, {3}, {kHuge}), "beyond its storage");
  refuses(pickle::tensor(storage, kHuge, {3}, {kHuge / 2}), "beyond its storage");
  refuses(pickle::tensor(storage, 0, {-2}, {1}), "negative size");
  refuses(pickle::tensor(storage, 0, {2}, {-1}), "negative size");
  refuses(pickle::tensor(storage, 0, {2}, {}), "1 sizes and 0 strides");
  refuses(pickle::tensor(pickle::storage("FloatStorage", "0", 11), 0, {1}, {1}), "40 bytes for 11 values");
  refuses(pickle::tensor(pickle::storage("FloatStorage", "0", int64_t{1} << 62), 0, {1}, {1}),
          "40 bytes for");
  refuses(pickle::tensor(pickle::storage("HalfStorage", "0", 20), 0, {1}, {1}), "two types");
  refuses(pickle::tensor(pickle::storage("FloatStorage", "9", 10), 0, {1}, {1}), "storage '9' is missing");
  refuses(pickle::tensor(pickle::number(1), 0, {1}, {1}), "without a proper storage");
  const std::string view = "(" + pickle::text("v") + pickle::number(8) + pickle::number(3) + "t";
  refuses(pickle::tensor(pickle::storage("FloatStorage", "0", 10, view), 0, {1}, {1}), "view beyond");
}

TEST(StateDict, HostilePicklesEndInErrorsNotInCrashes) {
  refuses("t", "closes what was not opened");
  refuses("N)R", "calls what is no function");
  refuses("00", "opcode 0x30");
  refuses("u", "fills a container that is none");
  refuses("h\x63", "recalls what it never kept");
  refuses("N" + std::string(2'000'000, '\x85'), "more than 1000000 values");  // tuples in tuples
  refuses(std::string(2'000'000, '('), "too large");
  std::string copies = "](";  // one long list of pairs, named again and again
  for (int i = 0; i < 1000; ++i) copies += "NN\x86";
  copies += "e\x85q\x01";
  for (int i = 0; i < 100'000; ++i) copies += std::string("ccollections\nOrderedDict\nh\x01R");
  refuses(copies, "too large");
  refuses("ccollections\nOrderedDict\n](Ne\x85R", "OrderedDict of no pairs");
  refuses(")Q", "without a proper storage");
  EXPECT_ERROR(read("\x80\x09."), "protocol 9");
  EXPECT_ERROR(read("\x80\x02K\x01."), "not one of PyTorch");
  EXPECT_ERROR(read("hello"), "not a PyTorch file");
  EXPECT_ERROR(read(""), "not a PyTorch file");
}

TEST(StateDict, SharedStoragesCannotFillTheMemory) {
  const std::string data(4'000'000, '\0');
  const std::string storage = pickle::storage("FloatStorage", "0", 1'000'000);
  std::string object = pickle::ordered_dict() + "(";
  for (int i = 0; i < 1000; ++i)
    object += pickle::text(std::to_string(i)) + pickle::tensor(storage, 0, {1'000'000}, {1});
  EXPECT_ERROR(read(legacy_file(object + "u", {{"0", {"FloatStorage", data, 4}}})),
               "more values than the file has bytes");
}

TEST(StateDict, RefusesDamagedArchives) {
  const TemporaryFolder folder;
  const NetworkFile file = pieces(Parameters(small_spec()));
  const std::string good = zip_file(folder / "z", file.object, file.storages);
  ASSERT_NO_THROW(read(good));
  std::string changed = good;
  changed[good.find("conv1.conv.weight")] = 'k';
  EXPECT_ERROR(read(changed), "checksum of entry 'net/data.pkl'");
  changed = good;
  changed[good.rfind("PK\1\2") + 10] = 8;  // method: deflated
  EXPECT_ERROR(read(changed), "is compressed");
  EXPECT_ERROR(read(good.substr(0, good.size() - 10)), "no directory");
  changed = good;
  for (size_t at = 0; (at = changed.find("net/data.pkl", at)) != std::string::npos; ++at) changed[at] = 'm';
  EXPECT_ERROR(read(changed), "storage '0' is missing");
  for (size_t at = 0; (at = changed.find("data.pkl", at)) != std::string::npos; ++at) changed[at] = 'm';
  EXPECT_ERROR(read(changed), "without data.pkl");
}

TEST(StateDict, SaysWhichEntryDoesNotFit) {
  const Parameters parameters = Parameters::initialised(small_spec(), 2);
  const StateDict good = read(legacy(pieces(parameters)));
  const auto changed = [&](const std::function<void(StateDict&)>& change) {
    StateDict dict = good;
    change(dict);
    return error_of([&] { parameters_from(dict, {}, "file.pt"); });
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, text);
  };
  has(changed([](auto& d) { d.erase("rb2.conv_1.conv.weight"); }), "'rb2.conv_1.conv.weight' is missing");
  has(changed([](auto& d) { d["fc.weight"] = {}; }), "'fc.weight' is no parameter of res6");
  has(changed([](auto& d) { d["rb9.conv_1.conv.weight"] = {}; }), "the blocks [rb1 rb2 rb3 rb9]");
  has(changed([](auto& d) { d["module.lq.bias"] = d["lq.bias"]; }), "with and without 'module.'");
  has(changed([](auto& d) { d["ln1.weight"].shape = {1, 100}; }), "a head of 100 inputs");
  has(changed([](auto& d) { d["ln1.weight"].shape = {1, 0}; }), "a head of 0 inputs");
  has(changed([](auto& d) { d["conv1.conv.weight"].shape[0] = 1; }), "");
  has(changed([](auto& d) { d["conv1.conv.weight"].shape = {4}; }), "'conv1.conv.weight' has shape (4)");
  has(changed([](auto& d) { d["rb1.conv_2.conv.conv.bias"].shape = {7}; }), "shape (7) instead of (8)");
  has(changed([](auto& d) { d["lq.bias"].values[0] = INFINITY; }),
      "'lq.bias' holds a value that is not finite");
  has(changed([](auto& d) { d["lq.bias"].is_float = false; }), "'lq.bias' has shape");
}

// Whatever the bytes, the outcome is a dict or an Error: other exceptions and crashes fail the test.
void survives(const std::string& bytes) {
  try {
    parameters_from(read(bytes), {}, "file.pt");
  } catch (const Error&) {
  }
}

void fuzz(const std::string& good, size_t interesting) {
  for (size_t size = 0; size < good.size(); size += 97)
    EXPECT_THROW(read(good.substr(0, size)), Error) << size;
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    const int changes = 1 + static_cast<int>(random() % 4);
    // Half of the changes where the structure is, half anywhere.
    for (int i = 0; i < changes; ++i)
      bytes[random() % (random() % 2 ? interesting : bytes.size())] = static_cast<char>(random());
    survives(bytes);
  }
}

TEST(StateDict, SurvivesTruncationAndRandomChangesLegacy) {
  const NetworkFile file = pieces(Parameters::initialised(small_spec(), 2), "module.", true);
  fuzz(legacy(file), file.object.size() + 100);
}

TEST(StateDict, SurvivesTruncationAndRandomChangesZip) {
  const TemporaryFolder folder;
  const NetworkFile file = pieces(Parameters::initialised(small_spec(), 2), "", true);
  const std::string good = zip_file(folder / "z", file.object, file.storages);
  fuzz(good, good.size());
  std::mt19937_64 random(2);
  const size_t directory = good.size() - good.find("PK\1\2");
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    bytes[good.size() - 1 - random() % directory] = static_cast<char>(random());
    survives(bytes);
  }
}

}  // namespace
}  // namespace mdsm::network
