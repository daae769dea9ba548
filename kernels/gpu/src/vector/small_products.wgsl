// Products of many pairs of small complex matrices: a thread for each number of a product.

@group(0) @binding(0) var<storage, read> a: array<vec2f>;
@group(0) @binding(1) var<storage, read> b: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> c: array<vec2f>;

override M: u32 = 1u;
override K: u32 = 1u;
override N: u32 = 1u;
override COUNT: u32 = 1u;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = (group.x + group.y * groups.x) * 256u + thread;
    if at >= COUNT * M * N {
        return;
    }
    let row = at / N * K;
    let column = at / (M * N) * (K * N) + at % N;
    var sum = vec2f();
    for (var k = 0u; k < K; k++) {
        let p = a[row + k];
        let q = b[column + k * N];
        sum += vec2f(p.x * q.x - p.y * q.y, p.x * q.y + p.y * q.x);
    }
    c[at] = sum;
}
