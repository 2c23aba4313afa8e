#include "rewriters/syntax/host/host_prelude.h"

namespace hone::syntax {
namespace {

// Host code is never compiled: it is read to find launches, so a declaration is enough almost
// everywhere. Bodies stand where the reader should follow what a function does to its arguments.
constexpr std::string_view kRuntime = R"cuda(
#undef __CUDACC_RTC__
#define __linux__ 1
#define __unix__ 1
typedef int cudaError_t; typedef int CUresult; typedef int cudaMemcpyKind; typedef int cudaFuncAttribute; typedef int cudaDeviceAttr;
typedef int cudaFuncCache; typedef int cudaSharedMemConfig; typedef int cudaLimit;
typedef int cudaMemoryAdvise; typedef int cudaMemRangeAttribute;
enum { cudaSuccess = 0, cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorNotReady, cudaErrorUnknown, CUDA_SUCCESS = 0 };
enum { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum { cudaHostAllocDefault, cudaHostAllocPortable, cudaHostAllocMapped, cudaHostAllocWriteCombined = 4, cudaHostRegisterDefault = 0,
  cudaHostRegisterMapped = 2, cudaDeviceMapHost = 8, cudaDeviceScheduleAuto = 0, cudaMemAttachGlobal = 1, cudaMemAttachHost = 2 };
enum { cudaEventDefault, cudaEventBlockingSync, cudaEventDisableTiming, cudaStreamDefault = 0, cudaStreamNonBlocking };
enum { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum { cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout, cudaCpuDeviceId = -1,
  cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMultiProcessorCount = 16, cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97, cudaDevAttrWarpSize = 10, cudaDevAttrConcurrentManagedAccess = 89, cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76, cudaLimitMallocHeapSize = 2, cudaLimitPrintfFifoSize = 1, cudaLimitStackSize = 0,
  cudaMemAdviseSetReadMostly = 1, cudaMemAdviseSetPreferredLocation = 3, cudaMemAdviseSetAccessedBy = 5 };
struct hone_stream; typedef hone_stream* cudaStream_t; struct hone_event; typedef hone_event* cudaEvent_t;
struct hone_graph; typedef hone_graph* cudaGraph_t; struct hone_graph_exec; typedef hone_graph_exec* cudaGraphExec_t;
struct cudaArray; typedef cudaArray* cudaArray_t; typedef unsigned long long cudaSurfaceObject_t;
#define cudaStreamLegacy ((cudaStream_t)1)
#define cudaStreamPerThread ((cudaStream_t)2)
struct cudaDeviceProp { char name[256]; size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor, sharedMemPerBlockOptin, totalConstMem, memPitch;
  int regsPerBlock, regsPerMultiprocessor, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, major, minor,
  multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode, concurrentKernels, ECCEnabled, pciBusID,
  pciDeviceID, pciDomainID, asyncEngineCount, unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, maxThreadsPerMultiProcessor,
  cooperativeLaunch, managedMemory, concurrentManagedAccess, pageableMemoryAccess, deviceOverlap; };
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) { p->multiProcessorCount = 132; p->maxThreadsPerBlock = 1024; p->warpSize = 32;
  p->sharedMemPerBlock = 49152; p->sharedMemPerMultiprocessor = 233472; p->maxThreadsPerMultiProcessor = 2048; p->major = 9; p->minor = 0;
  p->maxThreadsDim[0] = 1024; p->maxThreadsDim[1] = 1024; p->maxThreadsDim[2] = 64; p->maxGridSize[0] = 2147483647; p->maxGridSize[1] = 65535;
  p->maxGridSize[2] = 65535; p->canMapHostMemory = 1; p->unifiedAddressing = 1; p->concurrentKernels = 1; p->managedMemory = 1; p->cooperativeLaunch = 1;
  p->concurrentManagedAccess = 1; p->pageableMemoryAccess = 1; p->asyncEngineCount = 3; p->deviceOverlap = 1; return 0; }
inline cudaError_t cudaDeviceGetAttribute(int* v, int a, int) { *v = a == 16 ? 132 : a == 1 ? 1024 : a == 8 ? 49152 : a == 97 ? 232448 : a == 10 ? 32 : a == 75 ? 9 : a == 76 ? 0 : 1; return 0; }
inline cudaError_t cudaGetDeviceCount(int* n) { *n = 1; return 0; }
inline cudaError_t cudaGetDevice(int* n) { *n = 0; return 0; }
inline cudaError_t cudaSetDevice(int) { return 0; }
inline cudaError_t cudaDriverGetVersion(int* v) { *v = 13000; return 0; }
inline cudaError_t cudaRuntimeGetVersion(int* v) { *v = 13000; return 0; }
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { *ms = 1.0f; return 0; }
inline cudaError_t cudaMemGetInfo(size_t* f, size_t* t) { *f = 80000000000ull; *t = 80000000000ull; return 0; }
template <class F> inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, F, int, size_t) { *n = 2; return 0; }
template <class F> inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* g, int* b, F, size_t = 0, int = 0) { *g = 264; *b = 256; return 0; }
#define HONE_P_OK(name, args) inline cudaError_t name args { return 0; }
HONE_P_OK(cudaGetLastError, ()) HONE_P_OK(cudaPeekAtLastError, ()) HONE_P_OK(cudaDeviceSynchronize, ()) HONE_P_OK(cudaThreadSynchronize, ())
HONE_P_OK(cudaDeviceReset, ()) HONE_P_OK(cudaThreadExit, ()) HONE_P_OK(cudaEventCreate, (cudaEvent_t*)) HONE_P_OK(cudaEventCreateWithFlags, (cudaEvent_t*, unsigned))
HONE_P_OK(cudaEventCreate, (cudaEvent_t*, unsigned)) HONE_P_OK(cudaEventRecord, (cudaEvent_t, cudaStream_t = 0)) HONE_P_OK(cudaEventSynchronize, (cudaEvent_t))
HONE_P_OK(cudaEventDestroy, (cudaEvent_t)) HONE_P_OK(cudaEventQuery, (cudaEvent_t)) HONE_P_OK(cudaStreamCreate, (cudaStream_t*))
HONE_P_OK(cudaStreamCreateWithFlags, (cudaStream_t*, unsigned)) HONE_P_OK(cudaStreamCreateWithPriority, (cudaStream_t*, unsigned, int))
HONE_P_OK(cudaStreamSynchronize, (cudaStream_t)) HONE_P_OK(cudaStreamDestroy, (cudaStream_t)) HONE_P_OK(cudaStreamQuery, (cudaStream_t))
HONE_P_OK(cudaStreamWaitEvent, (cudaStream_t, cudaEvent_t, unsigned = 0)) HONE_P_OK(cudaFree, (void*)) HONE_P_OK(cudaFreeHost, (void*))
HONE_P_OK(cudaFreeAsync, (void*, cudaStream_t)) HONE_P_OK(cudaHostUnregister, (void*)) HONE_P_OK(cudaSetDeviceFlags, (unsigned))
HONE_P_OK(cudaDeviceSetCacheConfig, (int)) HONE_P_OK(cudaDeviceSetSharedMemConfig, (int)) HONE_P_OK(cudaDeviceSetLimit, (int, size_t))
HONE_P_OK(cudaProfilerStart, ()) HONE_P_OK(cudaProfilerStop, ()) HONE_P_OK(cudaDeviceEnablePeerAccess, (int, unsigned))
HONE_P_OK(cudaMemPrefetchAsync, (const void*, size_t, int, cudaStream_t = 0)) HONE_P_OK(cudaMemAdvise, (const void*, size_t, int, int))
HONE_P_OK(cudaStreamAttachMemAsync, (cudaStream_t, void*, size_t = 0, unsigned = 0)) HONE_P_OK(cudaHostRegister, (void*, size_t, unsigned))
template <class F> inline cudaError_t cudaFuncSetAttribute(F, int, int) { return 0; }
template <class F> inline cudaError_t cudaFuncSetCacheConfig(F, int) { return 0; }
template <class F> inline cudaError_t cudaFuncSetSharedMemConfig(F, int) { return 0; }
const char* cudaGetErrorString(cudaError_t); const char* cudaGetErrorName(cudaError_t);
cudaError_t cudaMemcpy(void*, const void*, size_t, cudaMemcpyKind); cudaError_t cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t = 0);
cudaError_t cudaMemset(void*, int, size_t); cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t = 0);
cudaError_t cudaMemcpy2D(void*, size_t, const void*, size_t, size_t, size_t, cudaMemcpyKind);
template <class T> cudaError_t cudaMalloc(T**, size_t); template <class T> cudaError_t cudaMallocManaged(T**, size_t, unsigned = 1);
template <class T> cudaError_t cudaMallocAsync(T**, size_t, cudaStream_t); template <class T> cudaError_t cudaMallocHost(T**, size_t, unsigned = 0);
template <class T> cudaError_t cudaHostAlloc(T**, size_t, unsigned); template <class T> cudaError_t cudaHostGetDevicePointer(T**, void*, unsigned);
template <class T> cudaError_t cudaMallocPitch(T**, size_t*, size_t, size_t);
template <class T> cudaError_t cudaMemcpyToSymbol(const T&, const void*, size_t, size_t = 0, cudaMemcpyKind = 1);
template <class T> cudaError_t cudaMemcpyToSymbolAsync(const T&, const void*, size_t, size_t = 0, cudaMemcpyKind = 1, cudaStream_t = 0);
template <class T> cudaError_t cudaMemcpyFromSymbol(void*, const T&, size_t, size_t = 0, cudaMemcpyKind = 2);
template <class T> cudaError_t cudaGetSymbolAddress(void**, const T&);
template <class F> cudaError_t cudaLaunchKernel(F, dim3, dim3, void**, size_t = 0, cudaStream_t = 0);
template <class F> cudaError_t cudaLaunchCooperativeKernel(F, dim3, dim3, void**, size_t = 0, cudaStream_t = 0);
extern "C" cudaError_t cudaConfigureCall(dim3, dim3, size_t = 0, cudaStream_t = 0);
)cuda";

constexpr std::string_view kStandard = R"cuda(
typedef unsigned int uint; typedef unsigned short ushort; typedef unsigned long ulong; typedef unsigned char u_char; typedef long ssize_t; typedef long time_t; typedef long clock_t; typedef long off_t;
#define M_PI 3.14159265358979323846
#define M_E 2.7182818284590452354
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_LN2 0.69314718055994530942
#define RAND_MAX 2147483647
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define CLOCKS_PER_SEC 1000000
#define EOF (-1)
#define PATH_MAX 4096
#define SEEK_SET 0
#define SEEK_END 2
#define CLOCK_MONOTONIC 1
#define CLOCK_REALTIME 0
struct FILE; extern FILE* stdout; extern FILE* stderr; extern FILE* stdin; extern int errno; extern char* optarg; extern int optind;
struct timeval { long tv_sec, tv_usec; }; struct timezone { int tz; }; struct timespec { long tv_sec, tv_nsec; };
struct option { const char* name; int has_arg; int* flag; int val; };
inline int getopt(int, char* const*, const char*) { return -1; }
inline int getopt_long(int, char* const*, const char*, const option*, int*) { return -1; }
inline int gettimeofday(timeval* t, void*) { return 0; } inline int clock_gettime(int, timespec*) { return 0; }
long time(long*); int rand(); void srand(unsigned); double drand48(); void srand48(long); long random(); void srandom(unsigned); double erand48(unsigned short*);
void exit(int); void abort(); int atoi(const char*); long atol(const char*); long long atoll(const char*); double atof(const char*); char* getenv(const char*);
long strtol(const char*, char**, int); unsigned long strtoul(const char*, char**, int); double strtod(const char*, char**); float strtof(const char*, char**);
long long strtoll(const char*, char**, int); unsigned long long strtoull(const char*, char**, int);
int strcmp(const char*, const char*); int strncmp(const char*, const char*, size_t); int strcasecmp(const char*, const char*); size_t strlen(const char*);
char* strcpy(char*, const char*); char* strncpy(char*, const char*, size_t); char* strcat(char*, const char*); char* strstr(const char*, const char*);
char* strchr(const char*, int); char* strrchr(const char*, int); char* strtok(char*, const char*); char* strdup(const char*); int memcmp(const void*, const void*, size_t);
FILE* fopen(const char*, const char*); int fclose(FILE*); size_t fread(void*, size_t, size_t, FILE*); size_t fwrite(const void*, size_t, size_t, FILE*);
char* fgets(char*, int, FILE*); int feof(FILE*); int fflush(FILE*); int getchar(); int putchar(int); int puts(const char*); int fputs(const char*, FILE*); int fgetc(FILE*);
int fseek(FILE*, long, int); long ftell(FILE*); void rewind(FILE*); void perror(const char*); int usleep(unsigned); unsigned sleep(unsigned);
template <class... A> int fprintf(FILE*, const char*, A...); template <class... A> int sprintf(char*, const char*, A...);
template <class... A> int snprintf(char*, size_t, const char*, A...); template <class... A> int scanf(const char*, A...);
template <class... A> int fscanf(FILE*, const char*, A...); template <class... A> int sscanf(const char*, const char*, A...);
void* calloc(size_t, size_t); void* realloc(void*, size_t); void* aligned_alloc(size_t, size_t); int posix_memalign(void**, size_t, size_t); void* memmove(void*, const void*, size_t);
void qsort(void*, size_t, size_t, int (*)(const void*, const void*));
void* operator new(size_t, void*); struct nothrow_hone {};
namespace std {
using ::printf; using ::malloc; using ::free; using ::rand; using ::srand; using ::exit; using ::abort; using ::atoi; using ::atof; using ::memcpy; using ::memset; using ::memcmp;
using ::FILE; using ::fopen; using ::fclose; using ::strcmp; using ::strlen; using ::time; using ::fprintf; using ::calloc; using ::time_t; using ::clock_t; using ::clock; using ::strtol; using ::getenv; using ::puts; using ::fabsf; using ::fread; using ::fwrite; using ::snprintf; using ::sprintf;
typedef decltype(nullptr) nullptr_t;
template <class T> struct initializer_list { const T* hone_first; size_t hone_count; size_t size() const; const T* begin() const; const T* end() const; };
template <class A, class B> struct pair { A first; B second; pair() {} pair(A a, B b) : first(a), second(b) {} };
template <class A, class B> pair<A, B> make_pair(A a, B b) { return pair<A, B>(a, b); }
template <class T> struct allocator {};
template <class T, class A = allocator<T>> struct vector { T* hone_data; size_t hone_size; typedef T value_type; typedef T* iterator; typedef const T* const_iterator;
  vector() { hone_data = nullptr; hone_size = 0; } vector(size_t n) { hone_data = (T*)malloc(n * sizeof(T)); hone_size = n; }
  vector(size_t n, const T& v) { hone_data = (T*)malloc(n * sizeof(T)); hone_size = n; }
  vector(const vector& o) { hone_data = o.hone_data; hone_size = o.hone_size; }
  vector(initializer_list<T> l) { hone_data = (T*)malloc(l.size() * sizeof(T)); hone_size = l.size(); }
  template <class I> vector(I a, I b) { hone_size = b - a; hone_data = (T*)malloc(hone_size * sizeof(T)); }
  void resize(size_t n) { hone_data = (T*)malloc(n * sizeof(T)); hone_size = n; } void resize(size_t n, const T&) { hone_data = (T*)malloc(n * sizeof(T)); hone_size = n; }
  void assign(size_t n, const T&) { hone_data = (T*)malloc(n * sizeof(T)); hone_size = n; } void reserve(size_t) {} void clear() {}
  size_t size() const { return hone_size; } T* data() { return hone_data; } const T* data() const { return hone_data; } bool empty() const;
  T& operator[](size_t i) { return hone_data[i]; } const T& operator[](size_t i) const { return hone_data[i]; } T& at(size_t i) { return hone_data[i]; } const T& at(size_t i) const { return hone_data[i]; }
  T* begin() { return hone_data; } T* end() { return hone_data + hone_size; } const T* begin() const { return hone_data; } const T* end() const { return hone_data + hone_size; }
  T& front(); T& back(); void push_back(const T&); template <class... B> void emplace_back(B...); void pop_back(); };
template <class T, size_t N> struct array { T hone_data[N]; constexpr size_t size() const { return N; } T* data() { return hone_data; } T& operator[](size_t i) { return hone_data[i]; } const T& operator[](size_t i) const { return hone_data[i]; } T* begin() { return hone_data; } T* end() { return hone_data + N; } void fill(const T&); };
template <class T> struct unique_ptr { T* p; unique_ptr(T* q = nullptr) { p = q; } T* get() const { return p; } T& operator*() const { return *p; } T* operator->() const { return p; } void reset(T* q = nullptr); };
template <class T> struct unique_ptr<T[]> { T* p; unique_ptr(T* q = nullptr) { p = q; } T* get() const { return p; } T& operator[](size_t i) const { return p[i]; } };
template <class T> struct hone_make { typedef unique_ptr<T> type; static type make(size_t) { return type(new T()); } };
template <class T> struct hone_make<T[]> { typedef unique_ptr<T[]> type; static type make(size_t n) { return type(new T[n]); } };
template <class T> typename hone_make<T>::type make_unique(size_t n = 0) { return hone_make<T>::make(n); }
template <class C> struct basic_string { basic_string(); basic_string(const C*); basic_string(size_t, C); const C* c_str() const; size_t size() const; size_t length() const; bool empty() const; C& operator[](size_t); static const size_t npos = -1; size_t find(const basic_string&) const; basic_string substr(size_t, size_t = 0) const; basic_string& operator+=(const basic_string&); const C* begin() const; const C* end() const; };
typedef basic_string<char> string; string operator+(const string&, const string&); string operator+(const char*, const string&); bool operator==(const string&, const char*); bool operator==(const string&, const string&); bool operator!=(const string&, const char*);
bool operator<(const string&, const string&); string to_string(long long); string to_string(int); string to_string(double); string to_string(unsigned long);
inline int stoi(const string& s) { return atoi(s.c_str()); } long stol(const string&); unsigned long stoul(const string&); long long stoll(const string&); float stof(const string&); double stod(const string&);
struct ios_base { typedef int fmtflags; enum { out = 1, in = 2, binary = 4 }; }; typedef ios_base ios;
struct ostream { template <class T> ostream& operator<<(const T&); ostream& operator<<(ostream& (*)(ostream&)); ostream& flush(); int precision(int); void write(const char*, long); void setf(int, int = 0); int width(int); };
struct istream { template <class T> istream& operator>>(T&); explicit operator bool() const; bool operator!() const; istream& read(char*, long); bool good() const; bool eof() const; bool fail() const; };
struct ofstream : ostream { ofstream(); ofstream(const string&, int = 0); void open(const string&); void close(); bool is_open() const; bool operator!() const; };
struct ifstream : istream { ifstream(); ifstream(const string&, int = 0); void open(const string&); void close(); bool is_open() const; };
struct stringstream : ostream { string str() const; }; typedef stringstream ostringstream; bool getline(istream&, string&);
extern ostream cout, cerr, clog; extern istream cin; ostream& endl(ostream&); ostream& fixed(ostream&); ostream& scientific(ostream&); ostream& flush(ostream&); ostream& left(ostream&); ostream& right(ostream&); ostream& boolalpha(ostream&); struct hone_manip {}; hone_manip setprecision(int); hone_manip setw(int); hone_manip setfill(char);
struct exception { virtual const char* what() const; }; struct runtime_error : exception { runtime_error(const string&); }; struct invalid_argument : exception { invalid_argument(const string&); }; struct logic_error : exception { logic_error(const string&); };
template <class I, class T> void fill(I, I, const T&); template <class I, class N, class T> void fill_n(I, N, const T&); template <class I, class F> void generate(I, I, F); template <class I, class T> void iota(I, I, T); template <class I, class R> void shuffle(I, I, R&&); template <class I> void sort(I, I); template <class I, class C> void sort(I, I, C); template <class I, class O> O copy(I, I, O);
template <class I, class T> T accumulate(I, I, T); template <class I, class T, class F> T accumulate(I, I, T, F); template <class I> I max_element(I, I); template <class I> I min_element(I, I); template <class I, class J> bool equal(I, I, J); template <class I, class O, class F> O transform(I, I, O, F); template <class I, class F> void for_each(I, I, F);
template <class A> constexpr __host__ __device__ A&& forward(A& a) { return (A&&)a; } template <class T> struct greater {}; template <class T> struct less {}; template <class T> struct plus {};
template <class T> struct numeric_limits;
struct random_device { unsigned operator()(); }; struct mt19937 { mt19937(); mt19937(unsigned); unsigned operator()(); void seed(unsigned); }; typedef mt19937 default_random_engine; typedef mt19937 mt19937_64; typedef mt19937 minstd_rand;
template <class T = double> struct uniform_real_distribution { T a, b; uniform_real_distribution(T x = 0, T y = 1) : a(x), b(y) {} template <class G> T operator()(G&); };
template <class T = int> struct uniform_int_distribution { T a, b; uniform_int_distribution(T x = 0, T y = 2147483647) : a(x), b(y) {} template <class G> T operator()(G&); };
template <class T = double> struct normal_distribution { T a, b; normal_distribution(T x = 0, T y = 1) : a(x), b(y) {} template <class G> T operator()(G&); };
namespace chrono { template <class R, class P = int> struct duration { duration(); template <class S, class Q> duration(const duration<S, Q>&); R count() const; };
struct milli {}; struct micro {}; struct nano {}; struct hone_now { duration<double> time_since_epoch() const; }; duration<double> operator-(hone_now, hone_now); bool operator<(hone_now, hone_now);
struct high_resolution_clock { typedef hone_now time_point; static hone_now now(); }; typedef high_resolution_clock steady_clock; typedef high_resolution_clock system_clock; template <class C> using time_point = hone_now;
typedef duration<long> nanoseconds; typedef duration<long> microseconds; typedef duration<long> milliseconds; typedef duration<long> seconds; template <class D, class S> D duration_cast(S); }
typedef chrono::milli milli; typedef chrono::micro micro; typedef chrono::nano nano;
template <class F> struct function { template <class G> function(G); };
template <class K, class V> struct map { V& operator[](const K&); size_t size() const; }; template <class K, class V> struct unordered_map { V& operator[](const K&); size_t size() const; };
}
namespace thrust { template <class T> struct device_vector : std::vector<T> { using std::vector<T>::vector; device_vector() {} }; template <class T> struct host_vector : std::vector<T> { using std::vector<T>::vector; host_vector() {} };
template <class T> T* raw_pointer_cast(T* p) { return p; } template <class I, class T> void fill(I, I, const T&); template <class I> void sequence(I, I); }
)cuda";

}  // namespace

std::string host_prelude_text() { return std::string(kRuntime) + std::string(kStandard); }

}  // namespace hone::syntax
