// Files that the import does not take: one clear line for each. And none may crash it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "candidates/pytorch/import.h"
#include "tests/pytorch/fixture.h"
#include "tests/pytorch/zip_writer.h"

namespace hone::pytorch {
namespace {

using Json = nlohmann::json;

/// HONE_PYTORCH_MUTATIONS=50 tries 50 times as many wrong files, by hand.
int mutations(int count) {
  const char* more = std::getenv("HONE_PYTORCH_MUTATIONS");
  return more == nullptr ? count : count * std::max(1, std::atoi(more));
}

/// A good file's members, to be changed.
struct Good {
  std::vector<ZipMember> members;

  explicit Good(const std::string& fixture) {
    const Archive archive = open_fixture(fixture);
    for (const auto& [name, member] : archive.members()) {
      if (name.starts_with("recorded/")) continue;
      members.push_back({"m/" + name, *archive.read(member, 1 << 20)});
    }
  }
  ZipMember& member(const std::string& end) {
    for (ZipMember& one : members) {
      if (one.name.ends_with(end)) return one;
    }
    throw std::runtime_error("no member " + end);
  }
  void edit(const std::string& end, const std::function<void(Json&)>& change) {
    Json json = Json::parse(member(end).bytes);
    change(json);
    member(end).bytes = json.dump();
  }
  void edit_model(const std::function<void(Json&)>& change) { edit("models/model.json", change); }
  void edit_graph(const std::function<void(Json&)>& change) {
    edit_model([&](Json& model) { change(model["graph_module"]["graph"]); });
  }
};

class BadFiles : public testing::Test {
 protected:
  Folder folder_{"bad"};

  std::string message_for(const std::string& bytes) {
    const auto path = folder_.path() / "m.pt2";
    write_bytes(path, bytes);
    const auto imported = import_pt2(path, "m.pt2");
    if (imported) return "imported";
    EXPECT_EQ(imported.error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(imported.error().message.find('\n'), std::string::npos);
    EXPECT_TRUE(imported.error().message.starts_with(path.string())) << imported.error().message;
    return imported.error().message;
  }
  void expect(const std::string& bytes, const std::string& part) {
    const std::string message = message_for(bytes);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  void expect(const Good& file, const std::string& part) { expect(zip_of(file.members), part); }
};

TEST_F(BadFiles, TheWriterWritesGoodOnes) {
  EXPECT_EQ(message_for(zip_of(Good("products").members)), "imported");
}

TEST_F(BadFiles, NoZip) {
  expect("", "is no zip file");
  expect("a text", "is no zip file");
  EXPECT_FALSE(import_pt2(folder_.path() / "none.pt2", "none.pt2"));
  EXPECT_FALSE(import_pt2(folder_.path(), "folder.pt2"));
}

TEST_F(BadFiles, CutOff) {
  const std::string whole = zip_of(Good("products").members);
  for (const std::size_t bytes : {whole.size() - 1, whole.size() / 2, std::size_t{30}}) {
    expect(whole.substr(0, bytes), "cut off");
  }
}

/// The list of members ends within a member, after numbers that are skipped.
TEST_F(BadFiles, DirectoryCutOff) {
  const std::string whole = zip_of({{"m/a", "x"}});
  for (char bytes = 0; bytes < 48; ++bytes) {
    std::string cut = whole;
    cut[whole.size() - 10] = bytes;
    expect(cut, "its list of members is damaged");
  }
}

TEST_F(BadFiles, CompressedOrEncrypted) {
  Good file("products");
  file.member("model.json").method = 8;
  expect(file, "is compressed; torch.export.save stores members as they are");
  file.member("model.json").method = 0;
  file.member("model.json").flags = 1;
  expect(file, "is encrypted");
}

TEST_F(BadFiles, AnotherSchema) {
  Good file("products");
  file.edit_model([](Json& model) { model["schema_version"] = {{"major", 9}, {"minor", 1}}; });
  expect(file, "has schema version 9.1; hone reads 8.x");
}

TEST_F(BadFiles, NoModel) {
  expect(zip_of({{"m/other.txt", "x"}}), "holds no models/model.json");
  // TorchScript compresses its code.
  expect(zip_of({{"m/code/__torch__.py", "x", 8}, {"m/data.pkl", "x"}}),
         "holds no models/model.json");
  expect(zip_of({{"m/data/aotinductor/model/x.so", "x"}}), "AOTInductor");
  expect(zip_of({{"m/models/model.json", "{"}}), "is no JSON");
  expect(zip_of({{"m/models/model.json", "[]"}}), "schema_version");
}

TEST_F(BadFiles, WeightsMissing) {
  Good file("products");
  std::erase_if(file.members, [](const ZipMember& member) {
    return member.name.find("weight_0") != std::string::npos;
  });
  expect(file, "are missing");
  Good none("products");
  std::erase_if(none.members, [](const ZipMember& member) {
    return member.name.ends_with("model_weights_config.json");
  });
  expect(none, "the bytes of");
}

TEST_F(BadFiles, WeightsTooShort) {
  Good file("products");
  file.member("weight_0").bytes.resize(4);
  expect(file, "bytes, the file has 4");
}

TEST_F(BadFiles, PickledWeights) {
  Good file("products");
  file.edit("model_weights_config.json",
            [](Json& config) { config["config"].begin().value()["use_pickle"] = true; });
  expect(file, "is pickled");
}

TEST_F(BadFiles, DynamicShape) {
  Good file("products");
  file.edit_graph([](Json& graph) {
    graph["tensor_values"].begin().value()["sizes"][0] = {{"as_expr", {{"expr_str", "s0"}}}};
  });
  expect(file, "has a dynamic shape; export with fixed shapes");
}

TEST_F(BadFiles, UnknownOperation) {
  Good file("products");
  file.edit_graph([](Json& graph) { graph["nodes"][0]["target"] = "torch.ops.aten.none.default"; });
  expect(file, "(aten.none.default");
  expect(file,
         "hone does not have this operation; it needs a rule in candidates/pytorch/operations");
}

TEST_F(BadFiles, OverlappingStrides) {
  Good file("products");
  file.edit_graph([](Json& graph) {
    for (auto& [name, meta] : graph["tensor_values"].items()) {
      if (name == "v") meta["strides"] = Json::array({{{"as_int", 0}}});
    }
  });
  expect(file, "overlap or have gaps");
}

/// Buffers of a module that are views of one tensor, which it changes.
TEST_F(BadFiles, ChangedWeightsThatSharePart) {
  Good file("in_place");
  file.edit("model_weights_config.json", [](Json& config) {
    Json& weights = config["config"];
    weights["steps"]["path_name"] = weights["mean"]["path_name"];
    weights["steps"]["tensor_meta"]["dtype"] = weights["mean"]["tensor_meta"]["dtype"];
  });
  expect(file, "shares some of its elements with");
}

/// A tensor that hone lacks is told where a node reads or makes it.
TEST_F(BadFiles, ElementTypes) {
  Good file("products");
  file.edit_graph([](Json& graph) { graph["tensor_values"].begin().value()["dtype"] = 10; });
  expect(file, "torch.complex64; hone has");
  expect(file, "node '");
}

TEST_F(BadFiles, EmptyTensors) {
  Good file("products");
  file.edit_graph([](Json& graph) {
    for (auto& [name, meta] : graph["tensor_values"].items()) {
      if (!meta["sizes"].empty()) meta["sizes"][0] = {{"as_int", 0}};
    }
  });
  expect(file, "is an empty tensor; hone has none");
}

TEST_F(BadFiles, ShapesThatRulesDoNotGive) {
  Good file("products");
  file.edit_graph([](Json& graph) {
    std::erase_if(graph["nodes"].get_ref<Json::array_t&>(), [](const Json& node) {
      return node["target"] != "torch.ops.aten.linear.default";
    });
    graph["tensor_values"][graph["nodes"][0]["outputs"][0]["as_tensor"]["name"].get<std::string>()]
         ["sizes"][0] = {{"as_int", 77}};
  });
  expect(file, "has the shape [77");
}

/// A node of this operator, and what is changed of it.
void with_argument(Good& file, const std::string& target, const std::string& argument,
                   const Json& value) {
  file.edit_graph([&](Json& graph) {
    for (Json& node : graph["nodes"]) {
      if (node["target"] != "torch.ops." + target) continue;
      for (Json& input : node["inputs"]) {
        if (input["name"] == argument) {
          input["arg"] = value;
          return;
        }
      }
    }
    throw std::runtime_error("no " + target + " with " + argument);
  });
}

TEST_F(BadFiles, PlacesInMemory) {
  const auto expect_with = [&](const char* argument, const Json& value, const char* part) {
    Good file("strided");
    with_argument(file, "aten.as_strided.default", argument, value);
    expect(file, part);
  };
  expect_with("stride", {{"as_ints", {60, 2}}}, "takes elements 0 to 64 of a tensor that has 24");
  expect_with("stride", {{"as_ints", {1LL << 31, 1LL << 31}}}, "takes elements 0 to");
  expect_with("stride", {{"as_ints", {6, -2}}}, "has an extent of 3 with a stride of -2");
  expect_with("stride", {{"as_ints", {6}}}, "has 2 extents and 1 strides");
  expect_with("storage_offset", {{"as_int", 13}}, "takes elements 13 to 28");
  expect_with("storage_offset", {{"as_int", -1}}, "takes elements -1 to");
  // PyTorch keeps the order of a computed tensor's dimensions in memory; hone does not.
  Good file("strided");
  file.edit_graph([](Json& graph) {
    graph["tensor_values"]["add_4"]["strides"] = {{{"as_int", 1}}, {{"as_int", 2}}};
  });
  expect(file, "lie otherwise in a task");
  // A slice that begins at element 6: what lies before it is not its own.
  Good slice("strided");
  slice.edit_graph([](Json& graph) {
    for (Json& node : graph["nodes"]) {
      if (node["name"] == "as_strided_7") node["inputs"][3]["arg"] = {{"as_int", 5}};
    }
  });
  expect(slice, "takes elements -1 to 7 of a tensor that has 12");
}

/// PyTorch adds as often as an element is met, in an order that it does not say.
TEST_F(BadFiles, ElementsThatOverlapAreWritten) {
  Good file("strided_written");
  with_argument(file, "aten.as_strided.default", "stride", {{"as_ints", {0}}});
  expect(file, "writes into a tensor of which elements lie in one place");
  Good windows("strided_written");
  windows.edit_graph([](Json& graph) {
    for (Json& node : graph["nodes"]) {
      if (node["target"] != "torch.ops.aten.as_strided.default") continue;
      node["inputs"][1]["arg"] = {{"as_ints", {2, 2}}};
      node["inputs"][2]["arg"] = {{"as_ints", {1, 1}}};
    }
    const Json two = {{"as_int", 2}}, one = {{"as_int", 1}};
    for (const char* made : {"as_strided", "add_"}) {
      graph["tensor_values"][made]["sizes"] = {two, two};
      graph["tensor_values"][made]["strides"] = {one, one};
    }
  });
  expect(windows, "writes into a tensor of which elements lie in one place");
}

TEST_F(BadFiles, WindowsAndGrids) {
  const auto expect_with = [&](const char* fixture, const char* target, const char* argument,
                               const Json& value, const char* part) {
    Good file(fixture);
    with_argument(file, target, argument, value);
    expect(file, part);
  };
  const Json zeros = {{"as_ints", {0, 0}}}, nine = {{"as_int", 9}};
  expect_with("unfolding", "aten.im2col.default", "stride", zeros, "stride 0");
  expect_with("unfolding", "aten.im2col.default", "dilation", {{"as_ints", {1, 1, 1}}},
              "has 3 numbers for 2 dimensions");
  expect_with("unfolding", "aten.col2im.default", "kernel_size", {{"as_ints", {5, 5}}},
              "has 12 rows for windows of 25 elements");
  expect_with("unfolding", "aten.col2im.default", "output_size", {{"as_ints", {1, 1}}},
              "has windows larger than the image");
  expect_with("grids", "aten.grid_sampler.default", "interpolation_mode", nine, "has the mode 9");
  expect_with("grids", "aten.grid_sampler.default", "padding_mode", nine, "the padding 9");
  expect_with("grids_in_volumes", "aten.grid_sampler.default", "interpolation_mode",
              {{"as_int", 2}}, "has the mode 2 and the padding 0 for 3 dimensions");
}

TEST_F(BadFiles, PlacesOutside) {
  const auto expect_with = [&](const char* target, const char* argument, const Json& value,
                               const char* part) {
    Good file("views");
    with_argument(file, target, argument, value);
    expect(file, part);
  };
  const auto number = [](std::int64_t value) { return Json{{"as_int", value}}; };
  expect_with("aten.select.int", "index", number(99), "selects element 99");
  expect_with("aten.select.int", "index", number(-99), "selects element -99");
  expect_with("aten.narrow.default", "length", number(6), "takes 6 elements from 1 on, of 6");
  expect_with("aten.permute.default", "dims", {{"as_ints", {0, 0, 1, 2}}}, "names not each of");
  expect_with("aten.split_with_sizes.default", "split_sizes", {{"as_ints", {-1, 7}}},
              "splits into pieces of -1 elements");
  expect_with("aten.unfold.default", "step", number(0), "divided by 0");
}

TEST_F(BadFiles, StatesThatDoNotFit) {
  const auto with_states = [&](const Json& sizes, const Json& strides, const char* part) {
    Good file("recurrent");
    file.edit_graph([&](Json& graph) {
      for (auto& [name, meta] : graph["tensor_values"].items()) {
        if (name != "h" && name != "c" && name != "args_1" && name != "args_2") continue;
        meta["sizes"] = sizes;
        meta["strides"] = strides;
      }
    });
    expect(file, part);
  };
  const Json one = {{"as_int", 1}}, five = {{"as_int", 5}};
  with_states(Json::array(), Json::array(), "dimensions");
  with_states(Json::array({five}), Json::array({one}), "dimensions");
  with_states(Json::array({one, one, five}), Json::array({five, five, one}),
              "its shape rule gives");
}

/// Names are text of the file: they do not end the line of a message.
TEST_F(BadFiles, NamesWithControlCharacters) {
  Good file("products");
  file.edit_graph([](Json& graph) {
    graph["nodes"][0]["name"] = "a\n\x1b[31mall is well";
    graph["nodes"][0]["target"] = "torch.ops.aten.none.default";
  });
  expect(file, "node 'a??[31mall is well'");
}

/// Any byte may be another: an answer or an error, never a crash.
TEST_F(BadFiles, RandomBytes) {
  std::mt19937_64 random(7);
  const auto path = folder_.path() / "m.pt2";
  for (const char* name : {"recurrent", "attention", "joining", "indexing", "losses", "pooling"}) {
    const std::string good = zip_of(Good(name).members);
    for (int i = 0; i < mutations(300); ++i) {
      std::string bad = good;
      const int flips = 1 + static_cast<int>(random() % 4);
      for (int flip = 0; flip < flips; ++flip) {
        bad[random() % bad.size()] = static_cast<char>(random());
      }
      write_bytes(path, bad);
      static_cast<void>(import_pt2(path, "m.pt2"));
    }
  }
}

/// All tensors that a node reads become one of this name.
void read_one_tensor(Json& argument, const std::string& name) {
  if (argument.is_object() && argument.contains("name")) argument["name"] = name;
  if (argument.is_structured()) {
    for (Json& part : argument) read_one_tensor(part, name);
  }
}

/// Each operator alone, of a tensor of another rank than it was recorded with: none looks for a
/// dimension that is not there.
TEST_F(BadFiles, OtherRanks) {
  const auto path = folder_.path() / "m.pt2";
  const Json one = {{"as_int", 1}};
  int refused = 0;
  for (const std::string& name : fixture_names()) {
    Good file(name);
    const Json model = Json::parse(file.member("models/model.json").bytes);
    const Json& inputs = model["graph_module"]["signature"]["input_specs"];
    std::string input;
    for (const Json& spec : inputs) {
      if (spec.contains("user_input") && spec["user_input"]["arg"].contains("as_tensor")) {
        input = spec["user_input"]["arg"]["as_tensor"]["name"].get<std::string>();
      }
    }
    std::set<std::string> seen;
    for (const Json& node : model["graph_module"]["graph"]["nodes"]) {
      if (!seen.insert(node["target"].get<std::string>()).second) continue;
      for (const std::size_t rank : {0, 1, 9}) {
        Json bad = model;
        Json& graph = bad["graph_module"]["graph"];
        Json& meta = graph["tensor_values"][input];
        meta["sizes"] = meta["strides"] = Json::array();
        for (std::size_t i = 0; i < rank; ++i) {
          meta["sizes"].push_back(one);
          meta["strides"].push_back(one);
        }
        Json alone = node;
        for (Json& argument : alone["inputs"]) read_one_tensor(argument["arg"], input);
        graph["nodes"] = Json::array({alone});
        file.member("models/model.json").bytes = bad.dump();
        refused += message_for(zip_of(file.members)) != "imported" ? 1 : 0;
      }
    }
  }
  EXPECT_GT(refused, 100);
}

/// Numbers and words of the graph exchanged for others: what gets past the JSON.
TEST_F(BadFiles, RandomGraphs) {
  std::mt19937_64 random(11);
  const auto path = folder_.path() / "m.pt2";
  const std::vector<Json> values = {0,
                                    1,
                                    -1,
                                    2,
                                    3,
                                    7,
                                    64,
                                    1000000007,
                                    4611686018427387904,
                                    std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max(),
                                    0.5,
                                    true,
                                    false,
                                    nullptr,
                                    "",
                                    "x",
                                    "args_0",
                                    Json::array(),
                                    Json::object()};
  for (const std::string& name : fixture_names()) {
    Good file(name);
    const Json model = Json::parse(file.member("models/model.json").bytes);
    std::vector<Json::json_pointer> places;
    const Json flat = model["graph_module"].flatten();
    for (const auto& [place, value] : flat.items()) {
      places.emplace_back("/graph_module" + place);
    }
    for (int i = 0; i < mutations(60); ++i) {
      Json bad = model;
      const int changes = 1 + static_cast<int>(random() % 3);
      for (int change = 0; change < changes; ++change) {
        const Json::json_pointer& place = places[random() % places.size()];
        if (!bad.contains(place)) continue;
        bad[place] = random() % 3 == 0 && model.contains(places[random() % places.size()])
                         ? model[places[random() % places.size()]]
                         : values[random() % values.size()];
      }
      file.member("models/model.json").bytes = bad.dump();
      write_bytes(path, zip_of(file.members));
      static_cast<void>(import_pt2(path, "m.pt2"));
    }
  }
}

}  // namespace
}  // namespace hone::pytorch
