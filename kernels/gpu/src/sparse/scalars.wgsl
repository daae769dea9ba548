// The scalars of conjugate gradients, from the sums of parts of an inner product: one workgroup.

@group(0) @binding(0) var<storage, read> parts: array<vec2f>;
// r . r of the last step.
@group(0) @binding(1) var<storage, read_write> rho: array<f32>;
@group(0) @binding(2) var<storage, read_write> factor: array<f32>;
@group(0) @binding(3) var<storage, read_write> opposite: array<f32>;

override COUNT: u32 = 1u;
// 0: rho is the sum. 1: the factor is rho over the sum. 2: the factor is the sum over rho, which it replaces.
override STAGE: u32 = 0u;

const THREADS = 256u;

var<workgroup> sums: array<f32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32) {
    var sum = 0.0;
    for (var i = thread; i < COUNT; i += THREADS) {
        sum += parts[i].x;
    }
    sums[thread] = sum;
    for (var apart = THREADS / 2u; apart > 0u; apart /= 2u) {
        workgroupBarrier();
        if thread < apart {
            sums[thread] += sums[thread + apart];
        }
    }
    if thread == 0u {
        let total = sums[0];
        if STAGE == 1u {
            factor[0] = rho[0] / total;
            opposite[0] = -factor[0];
        } else {
            if STAGE == 2u {
                factor[0] = total / rho[0];
            }
            rho[0] = total;
        }
    }
}
