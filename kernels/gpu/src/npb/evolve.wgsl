// A transformed field times the factors of a step along its three axes.

@group(0) @binding(0) var<storage, read> source: array<vec2f>;
@group(0) @binding(1) var<storage, read_write> target_: array<vec2f>;
// For each step: the factors of planes, of rows and of columns.
@group(0) @binding(2) var<storage, read> factors: array<f32>;
@group(0) @binding(3) var<storage, read> step: array<u32>;

override PLANES: u32 = 1u;
override ROWS: u32 = 1u;
override COLUMNS: u32 = 1u;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = (group.x + group.y * groups.x) * 256u + thread;
    if at >= PLANES * ROWS * COLUMNS {
        return;
    }
    let first = step[0] * (PLANES + ROWS + COLUMNS);
    let z = factors[first + at / (ROWS * COLUMNS)];
    let y = factors[first + PLANES + at / COLUMNS % ROWS];
    let x = factors[first + PLANES + ROWS + at % COLUMNS];
    target_[at] = (z * y * x) * source[at];
}
