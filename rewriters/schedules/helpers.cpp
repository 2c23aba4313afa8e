// The text of the functions that generated kernels share.
#include <fmt/format.h>

#include "rewriters/schedules/lane_body.h"

namespace hone::schedules {

Cache parse_cache(std::string_view text) {
  if (text == "stream") return Cache::kStream;
  if (text == "keep-loads") return Cache::kKeepLoads;
  return text == "stream-stores" ? Cache::kStreamStores : Cache::kDefault;
}

void add_cache(SpaceBuilder& space, const Goal& goal) {
  const int capability = goal.context->target.compute_capability;
  std::vector<ParameterValue> values = {"default", "stream-stores", "stream"};
  if (capability >= 80) values.emplace_back(std::string("keep-loads"));
  const bool measured = capability / 10 == 9;
  space.values("cache", std::move(values), std::string(measured ? "keep-loads" : "default"));
}

std::string Helpers::pack(ScalarType type) {
  pack_ = true;
  return fmt::format("{}Pack<{}, kVec>", prefix_, type_name(type));
}

std::string Helpers::load(Hint hint, std::string_view width) {
  pack_ = true;
  switch (hint) {
    case Hint::kStreaming:
      streaming_loads_ = true;
      return fmt::format("{}load_streaming<{}>", prefix_, width);
    case Hint::kKept:
      kept_loads_ = true;
      return fmt::format("{}load_kept<{}>", prefix_, width);
    case Hint::kNone:
      break;
  }
  loads_ = true;
  return fmt::format("{}load<{}>", prefix_, width);
}

std::string Helpers::store(bool streaming) {
  pack_ = true;
  (streaming ? streaming_stores_ : stores_) = true;
  return fmt::format("{}store{}", prefix_, streaming ? "_streaming" : "");
}

std::string Helpers::cluster(std::string_view function) {
  clusters_ = true;
  return fmt::format("{}{}", prefix_, function);
}

namespace {

constexpr const char* kPack = R"(// kN neighbouring elements, moved by one access of up to 16 bytes.
template <typename T, int kN>
struct alignas(sizeof(T) * kN < 16 ? sizeof(T) * kN : 16) @Pack {
  T at[kN];
};

)";

constexpr const char* kLoad = R"(template <int kN, typename T>
__device__ __forceinline__ @Pack<T, kN> @load(const T* from) {
  return *reinterpret_cast<const @Pack<T, kN>*>(from);
}

)";

constexpr const char* kStore = R"(template <typename T, int kN>
__device__ __forceinline__ void @store(T* to, const @Pack<T, kN>& pack) {
  *reinterpret_cast<@Pack<T, kN>*>(to) = pack;
}

)";

constexpr const char* kLoadStreaming =
    R"(// Of elements that are read once: their lines may leave the caches first.
template <int kN, typename T>
__device__ __forceinline__ @Pack<T, kN> @load_streaming(const T* from) {
  @Pack<T, kN> pack;
  constexpr int kBytes = sizeof(pack);
  if constexpr (kBytes % 16 == 0) {
#pragma unroll
    for (int i = 0; i < kBytes / 16; ++i) {
      reinterpret_cast<uint4*>(&pack)[i] = __ldcs(reinterpret_cast<const uint4*>(from) + i);
    }
  } else if constexpr (kBytes == 8) {
    *reinterpret_cast<uint2*>(&pack) = __ldcs(reinterpret_cast<const uint2*>(from));
  } else if constexpr (kBytes == 4) {
    *reinterpret_cast<unsigned*>(&pack) = __ldcs(reinterpret_cast<const unsigned*>(from));
  } else {
    pack = *reinterpret_cast<const @Pack<T, kN>*>(from);
  }
  return pack;
}

)";

constexpr const char* kLoadKept =
    R"(// Of elements whose lines leave the L2 cache after those that are written.
__device__ __forceinline__ unsigned long long @kept() {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
template <int kN, typename T>
__device__ __forceinline__ @Pack<T, kN> @load_kept(const T* from) {
  @Pack<T, kN> pack;
  constexpr int kBytes = sizeof(pack);
  const size_t place = __cvta_generic_to_global(from);
  if constexpr (kBytes % 16 == 0) {
#pragma unroll
    for (int i = 0; i < kBytes / 16; ++i) {
      uint4& part = reinterpret_cast<uint4*>(&pack)[i];
      asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                   : "=r"(part.x), "=r"(part.y), "=r"(part.z), "=r"(part.w)
                   : "l"(place + 16 * i), "l"(@kept()));
    }
  } else if constexpr (kBytes == 8) {
    uint2& both = *reinterpret_cast<uint2*>(&pack);
    asm volatile("ld.global.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
                 : "=r"(both.x), "=r"(both.y)
                 : "l"(place), "l"(@kept()));
  } else if constexpr (kBytes == 4) {
    asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(*reinterpret_cast<unsigned*>(&pack))
                 : "l"(place), "l"(@kept()));
  } else {
    pack = *reinterpret_cast<const @Pack<T, kN>*>(from);
  }
  return pack;
}

)";

constexpr const char* kStoreStreaming =
    R"(// Of elements that nobody reads soon: their lines may leave the caches first.
template <typename T, int kN>
__device__ __forceinline__ void @store_streaming(T* to, const @Pack<T, kN>& pack) {
  constexpr int kBytes = sizeof(pack);
  if constexpr (kBytes % 16 == 0) {
#pragma unroll
    for (int i = 0; i < kBytes / 16; ++i) {
      __stcs(reinterpret_cast<uint4*>(to) + i, reinterpret_cast<const uint4*>(&pack)[i]);
    }
  } else if constexpr (kBytes == 8) {
    __stcs(reinterpret_cast<uint2*>(to), *reinterpret_cast<const uint2*>(&pack));
  } else if constexpr (kBytes == 4) {
    __stcs(reinterpret_cast<unsigned*>(to), *reinterpret_cast<const unsigned*>(&pack));
  } else {
    *reinterpret_cast<@Pack<T, kN>*>(to) = pack;
  }
}

)";

constexpr const char* kCluster =
    R"(// All threads of all blocks of the cluster; what they wrote before arriving is seen after the wait.
__device__ __forceinline__ void @cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void @cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Writes a variable in shared memory as another block of the cluster has it.
template <typename T>
__device__ __forceinline__ void @push(T* slot, int block, T value) {
  T* theirs;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(slot), "r"(block));
  *theirs = value;
}

)";

}  // namespace

std::string Helpers::text() const {
  std::string text;
  const auto put = [&](bool wanted, std::string_view what) {
    if (!wanted) return;
    for (const char c : what) {
      if (c == '@') {
        text += prefix_;
      } else {
        text += c;
      }
    }
  };
  put(pack_, kPack);
  put(loads_, kLoad);
  put(streaming_loads_, kLoadStreaming);
  put(kept_loads_, kLoadKept);
  put(stores_, kStore);
  put(streaming_stores_, kStoreStreaming);
  put(clusters_, kCluster);
  return text;
}

}  // namespace hone::schedules
