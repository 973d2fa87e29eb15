// The compiled pose head as one node of autograd that runs without Python.
//
// What is computed is pose_head.c's on the CPU and pose_head_triton.py's on a GPU; this file only
// allocates results, calls them, and remembers for backward what they need. Whatever is not the
// plain case (a gradient that is itself differentiated, batched or traced, a kernel that nobody has
// compiled yet) goes to head.py, through the operator spoonful::pose_head_gradients.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <strings.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

namespace spoonful {

using at::Tensor;
using std::optional;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int STATE = 34; // doubles in pose_head.c's `struct state`

enum start { GIVEN, KABSCH, DETACHED, PERTURBED };

enum pointer {
    SOURCE, TARGET, WEIGHTS, MASK, OFFSETS, START, ROTATION, TRANSLATION, STATE_OF,
    G_ROTATION, G_TRANSLATION, D_SOURCE, D_TARGET, D_WEIGHTS, D_START, POINTERS
};

// `struct call` of pose_head.c. Triton's kernels take those of its pointers that are not null, in
// the same order, and then points, starts and iterations.
struct Call {
    int64_t clouds, points, starts, iterations;
    int32_t target_form, start_kind, threads;
    void *at[POINTERS];
};

// How to run one of the two entries.
struct Kernel {
    void *function;           // of pose_head.c if `threads` is 0, otherwise a CUfunction
    int32_t threads, shared;  // threads a block, and bytes of memory that they share
    int32_t scratch;          // pointers that Triton adds behind the arguments, here always null
};

// A forward kernel and the backward ones that go with it, one for each set of gradients that there
// are and that are wanted: see `kind_of`.
constexpr int KINDS = 64;
constexpr int PROGRAMS = 1024;

struct Program {
    int32_t target_form, start_kind;
    Kernel forward, backward[KINDS];
    std::atomic<bool> there[KINDS];
};

// Only ever added to: a node that is running may be reading the others.
Program programs[PROGRAMS];
std::atomic<int64_t> known{0};
std::mutex adding;

// ---- Launching ------------------------------------------------------------------------------

// What is needed of CUDA, found by node.py: this file is compiled without CUDA's headers.
struct Gpu {
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **); // cuLaunchKernel
    void *(*stream)(const c10::Stream *);    // c10::cuda::CUDAStream::stream
    int (*context)(void **);                 // cuCtxGetCurrent
    int (*device)(int *, int);               // cuDeviceGet
    int (*retain)(void **, int);             // cuDevicePrimaryCtxRetain
    int (*enter)(void *);                    // cuCtxSetCurrent
};

Gpu gpu;

void *stream_of(c10::Device device)
{
    if (!device.is_cuda()) return nullptr;
    const c10::Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
    return gpu.stream(&stream);
}

// A thread of autograd's may never have called CUDA itself.
int enter_context(c10::Device device)
{
    void *context = nullptr;
    if (!device.is_cuda()) return 0;
    if (int error = gpu.context(&context)) return error;
    if (context) return 0;
    int number = 0;
    if (int error = gpu.device(&number, device.index())) return error;
    if (int error = gpu.retain(&context, number)) return error;
    return gpu.enter(context);
}

// Run a kernel, on a GPU in as many blocks for each cloud as `parts` says. 0, or what went wrong.
int run(const Kernel &kernel, Call &call, int64_t parts, c10::Device device)
{
    if (!kernel.threads)
        return reinterpret_cast<int (*)(const Call *)>(kernel.function)(&call);
    int32_t sizes[] = {
        static_cast<int32_t>(call.points),
        static_cast<int32_t>(call.starts),
        static_cast<int32_t>(call.iterations),
    };
    void *none = nullptr;
    void *arguments[POINTERS + 3 + 8];
    int n = 0;
    for (auto &pointer : call.at)
        if (pointer) arguments[n++] = &pointer;
    for (auto &size : sizes) arguments[n++] = &size;
    for (int i = 0; i < kernel.scratch; i++) arguments[n++] = &none;
    if (int error = enter_context(device)) return error;
    return gpu.launch(kernel.function, call.clouds, parts, 1, kernel.threads, 1, 1, kernel.shared,
                      stream_of(device), arguments, nullptr);
}

void run_or_throw(const Kernel &kernel, Call &call, int64_t parts, c10::Device device)
{
    const int error = run(kernel, call, parts, device);
    TORCH_CHECK(!error || kernel.threads, "no memory to fit ", call.clouds, " clouds of ",
                call.points, " points");
    TORCH_CHECK(!error, "CUDA did not take the pose head: error ", error);
}

// ---- What is plain --------------------------------------------------------------------------

// Numbers in one memory, by rows, no sign left to apply, and no tangent of forward-mode AD.
bool plain(const Tensor &x)
{
    static const c10::DispatchKeySet allowed{
        c10::DispatchKey::CPU, c10::DispatchKey::CUDA,
        c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA,
        c10::DispatchKey::ADInplaceOrView,
        c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastCUDA,
    };
    return (x.key_set() | allowed) == allowed && x.is_contiguous() && !x._fw_grad(0).defined();
}

// Torch just computes: it neither traces nor transforms.
bool plain_mode()
{
    static const c10::DispatchKeySet modes{
        c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
        c10::DispatchKey::PreDispatch, c10::DispatchKey::Functionalize, c10::DispatchKey::Tracer,
        c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
        c10::DispatchKey::FuncTorchDynamicLayerBackMode, c10::DispatchKey::FuncTorchVmapMode,
    };
    return !c10::impl::tls_local_dispatch_key_set().included_.has_any(modes);
}

bool like(const optional<Tensor> &x, const Tensor &source, at::ScalarType dtype, int64_t numel)
{
    return !x || (plain(*x) && x->scalar_type() == dtype && x->device() == source.device() &&
                  x->numel() == numel);
}

bool by_point(const optional<Tensor> &x, const Tensor &source)
{
    return !x || x->sizes() == source.sizes().slice(0, source.dim() - 1);
}

// `off` of switch.py, as far as the environment says so; asking it from Python takes longer.
bool off()
{
    const char *wish = std::getenv("SPOONFUL_KERNELS");
    return wish && !strcasecmp(wish, "off");
}

// Whether these are clouds as the kernels expect them, so that no other check is needed.
bool fits(const Program &program, const Tensor &source, const Tensor &target,
          const optional<Tensor> &weights, const optional<Tensor> &start,
          const optional<Tensor> &mask, int64_t iterations)
{
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    const auto dtype = source.scalar_type();
    if (off() || !plain_mode() || !plain(source) || source.dim() < 2 || source.size(-1) != 3 ||
        source.numel() == 0 || (dtype != at::kFloat && dtype != at::kDouble) ||
        source.size(-2) > most || source.numel() / source.size(-2) / 3 > most || iterations > most)
        return false;
    const int64_t points = source.size(-2), clouds = source.numel() / (3 * points);
    if (!like(target, source, dtype, source.numel()) || target.sizes() != source.sizes() ||
        !like(weights, source, dtype, clouds * points) || !by_point(weights, source) ||
        !like(mask, source, at::kBool, clouds * points) || !by_point(mask, source))
        return false;
    if (program.start_kind == PERTURBED)
        return start && start->dim() >= 3 && start->size(-3) <= most &&
               like(start, source, dtype, 9 * clouds * start->size(-3));
    if (program.start_kind == GIVEN) return start && like(start, source, dtype, 9 * clouds);
    return !start;
}

// ---- Forward and backward -------------------------------------------------------------------

void *data(const Tensor &x)
{
    return x.defined() ? const_cast<void *>(x.const_data_ptr()) : nullptr;
}

Call call_of(const Program &program, const Tensor &source, const Tensor &target,
             const Tensor &weights, const Tensor &start, const Tensor &mask, int64_t iterations)
{
    Call call{};
    call.points = source.size(-2);
    call.clouds = source.numel() / (3 * call.points);
    call.starts = program.start_kind == PERTURBED ? start.size(-3) : 1;
    call.iterations = iterations;
    call.target_form = program.target_form;
    call.start_kind = program.start_kind;
    call.threads = source.is_cpu() ? at::get_num_threads() : 1;
    call.at[SOURCE] = data(source);
    call.at[TARGET] = data(target);
    call.at[WEIGHTS] = data(weights);
    call.at[START] = data(start);
    call.at[MASK] = data(mask);
    return call;
}

// Which backward kernel: what there is and what is wanted, as bits.
int kind_of(const Call &call)
{
    int kind = 0;
    for (int i = G_ROTATION; i < POINTERS; i++)
        if (call.at[i]) kind |= 1 << (i - G_ROTATION);
    return kind;
}

// The gradients as head.py finds them. What comes back empty is no gradient.
void ask_python(variable_list &found, const variable_list &saved, const variable_list &gradients,
                const bool *wanted, int64_t iterations, const Program &program, bool stacked)
{
    static const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow("spoonful::pose_head_gradients", "");
    torch::jit::Stack stack;
    const auto push = [&](const Tensor &x) {
        stack.push_back(x.defined() ? c10::IValue(x) : c10::IValue());
    };
    for (const auto &x : saved) push(x);
    for (const auto &x : gradients) push(x);
    stack.emplace_back(c10::List<bool>({wanted[0], wanted[1], wanted[2], wanted[3]}));
    stack.emplace_back(iterations);
    stack.emplace_back(static_cast<int64_t>(program.target_form));
    stack.emplace_back(static_cast<int64_t>(program.start_kind));
    stack.emplace_back(stacked);
    // Straight to Python's function: in the middle of a transform it must see what we see.
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
    const auto answer = stack.at(0).toTensorVector();
    for (int i = 0; i < 4; i++)
        if (wanted[i] && answer.at(i).numel()) found[i] = answer[i];
}

struct PoseHead : torch::autograd::Function<PoseHead> {
    static variable_list forward(AutogradContext *ctx, const Tensor &source, const Tensor &target,
                                 const optional<Tensor> &weights, const optional<Tensor> &start,
                                 const optional<Tensor> &mask, int64_t which, int64_t parts,
                                 int64_t iterations, bool stacked)
    {
        const Program &program = programs[which];
        const c10::OptionalDeviceGuard guard(source.device());
        const Tensor w = weights.value_or(Tensor()), first = start.value_or(Tensor()),
                     m = mask.value_or(Tensor());
        Call call = call_of(program, source, target, w, first, m, iterations);
        std::vector<int64_t> shape = source.sizes().slice(0, source.dim() - 2).vec();
        if (stacked) shape.push_back((program.start_kind != GIVEN) + iterations * call.starts);
        shape.push_back(3);
        const Tensor translation = at::empty(shape, source.options());
        shape.push_back(3);
        const Tensor rotation = at::empty(shape, source.options());
        const Tensor state = at::empty({call.clouds, STATE}, source.options().dtype(at::kDouble));
        call.at[ROTATION] = data(rotation);
        call.at[TRANSLATION] = data(translation);
        call.at[STATE_OF] = data(state);
        run_or_throw(program.forward, call, 1, source.device());
        ctx->set_materialize_grads(false);
        ctx->save_for_backward({source, target, w, first, m, rotation, state});
        ctx->saved_data["plan"] = std::vector<int64_t>{which, parts, iterations, stacked};
        return {rotation, translation};
    }

    static variable_list backward(AutogradContext *ctx, variable_list gradients)
    {
        variable_list found(9); // one for each argument of forward
        if (!gradients[0].defined() && !gradients[1].defined()) return found;
        const variable_list saved = ctx->get_saved_variables();
        const auto plan = ctx->saved_data["plan"].toIntVector();
        Program &program = programs[plan[0]];
        const Tensor &source = saved[0];
        bool wanted[4];
        size_t edge = 0;
        for (int i = 0; i < 4; i++)
            wanted[i] = saved[i].defined() && ctx->needs_input_grad(edge++);
        // The turns of a perturbed start are not ours to differentiate.
        if (program.start_kind != GIVEN) wanted[3] = false;

        bool simple = plain_mode() && !at::GradMode::is_enabled();
        for (auto &g : gradients) {
            if (simple && g.defined() && !g.is_contiguous()) g = g.contiguous();
            simple = simple && (!g.defined() || plain(g));
        }
        for (const auto &x : saved) simple = simple && (!x.defined() || plain(x));
        if (simple) {
            const c10::OptionalDeviceGuard guard(source.device());
            Call call =
                call_of(program, source, saved[1], saved[2], saved[3], saved[4], plan[2]);
            call.at[ROTATION] = data(saved[5]);
            call.at[STATE_OF] = data(saved[6]);
            call.at[G_ROTATION] = data(gradients[0]);
            call.at[G_TRANSLATION] = data(gradients[1]);
            for (int i = 0; i < 4; i++)
                if (wanted[i]) {
                    found[i] = at::empty_like(saved[i]);
                    call.at[D_SOURCE + i] = data(found[i]);
                }
            const int kind = kind_of(call);
            if (program.there[kind].load(std::memory_order_acquire)) {
                run_or_throw(program.backward[kind], call, plan[1], source.device());
                return found;
            }
            found.assign(9, Tensor());
        }
        ask_python(found, saved, gradients, wanted, plan[2], program, plan[3]);
        return found;
    }
};

// Rotations and translations, or nothing if these tensors want the long way.
std::vector<Tensor> pose_head(const Tensor &source, const Tensor &target,
                              const optional<Tensor> &weights, const optional<Tensor> &start,
                              const optional<Tensor> &mask, int64_t program, int64_t parts,
                              int64_t iterations, bool stacked)
{
    TORCH_CHECK(program >= 0 && program < known.load(), "there is no program ", program);
    if (!fits(programs[program], source, target, weights, start, mask, iterations)) return {};
    return PoseHead::apply(source, target, weights, start, mask, program, parts, iterations,
                           stacked);
}

TORCH_LIBRARY_FRAGMENT(spoonful, m)
{
    m.def("pose_head_node(Tensor source, Tensor target, Tensor? weights, Tensor? start, "
          "Tensor? mask, int program, int parts, int iterations, bool stacked) -> Tensor[]",
          &pose_head);
}

} // namespace spoonful

// ---- For node.py, by ctypes -----------------------------------------------------------------

extern "C" {

void spoonful_use_gpu(const spoonful::Gpu *functions) { spoonful::gpu = *functions; }

void *spoonful_stream(int device)
{
    const auto index = static_cast<c10::DeviceIndex>(device);
    return spoonful::stream_of(c10::Device(c10::DeviceType::CUDA, index));
}

// A new program's number, or -1 if there are too many.
int64_t spoonful_new_program(int target_form, int start_kind, const spoonful::Kernel *forward)
{
    const std::lock_guard<std::mutex> guard(spoonful::adding);
    const int64_t number = spoonful::known.load();
    if (number == spoonful::PROGRAMS) return -1;
    spoonful::Program &program = spoonful::programs[number];
    program.target_form = target_form;
    program.start_kind = start_kind;
    program.forward = *forward;
    spoonful::known.store(number + 1);
    return number;
}

void spoonful_add_backward(int64_t number, int kind, const spoonful::Kernel *kernel)
{
    const std::lock_guard<std::mutex> guard(spoonful::adding);
    spoonful::Program &program = spoonful::programs[number];
    if (program.there[kind].load()) return;
    program.backward[kind] = *kernel;
    program.there[kind].store(true, std::memory_order_release);
}

int spoonful_run(const spoonful::Kernel *kernel, spoonful::Call *call, int64_t parts, int device)
{
    const c10::Device where(device < 0 ? c10::DeviceType::CPU : c10::DeviceType::CUDA,
                            static_cast<c10::DeviceIndex>(device));
    return spoonful::run(*kernel, *call, parts, where);
}

int spoonful_kind(const spoonful::Call *call) { return spoonful::kind_of(*call); }
}
