// Updates of vectors by a factor that the host has written.

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read> factor: array<f32>;
// The factors of each element, for products with a diagonal.
@group(0) @binding(3) var<storage, read> diagonal: array<f32>;

override COUNT: u32 = 1u;
// 0: y += factor x. 1: y = x + factor y. 2: y = factor x. 3: y = diagonal x. 4: y = x. 5: y = 0.
override OPERATION: u32 = 0u;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = (group.x + group.y * groups.x) * 256u + thread;
    if i >= COUNT {
        return;
    }
    switch OPERATION {
        case 0u: { y[i] += factor[0] * x[i]; }
        case 1u: { y[i] = x[i] + factor[0] * y[i]; }
        case 2u: { y[i] = factor[0] * x[i]; }
        case 3u: { y[i] = diagonal[i] * x[i]; }
        case 4u: { y[i] = x[i]; }
        default: { y[i] = 0.0; }
    }
}
