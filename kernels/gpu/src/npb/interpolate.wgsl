// The linear interpolation of the next coarser level: a thread for each fine point.

@group(0) @binding(0) var<storage, read> coarse: array<f32>;
@group(0) @binding(1) var<storage, read_write> fine: array<f32>;

// Extents of the fine grid.
override PLANES: u32 = 2u;
override ROWS: u32 = 2u;
override COLUMNS: u32 = 2u;
// True where it is added to what is there.
override ADD: bool = false;

// The two coarse points that a fine one lies between; twice the same where it coincides with one.
fn between(i: u32, count: u32) -> vec2u {
    let half = count / 2u;
    return vec2u((i / 2u + select(half - 1u, 0u, i % 2u == 1u)) % half, i / 2u);
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = (group.x + group.y * groups.x) * 64u + thread;
    if at >= PLANES * ROWS * COLUMNS {
        return;
    }
    let z = between(at / (ROWS * COLUMNS), PLANES);
    let y = between(at / COLUMNS % ROWS, ROWS);
    let x = between(at % COLUMNS, COLUMNS);
    let width = COLUMNS / 2u;
    let a = (z.x * (ROWS / 2u) + y.x) * width;
    let b = (z.x * (ROWS / 2u) + y.y) * width;
    let c = (z.y * (ROWS / 2u) + y.x) * width;
    let d = (z.y * (ROWS / 2u) + y.y) * width;
    let west = (coarse[a + x.x] + coarse[b + x.x]) + (coarse[c + x.x] + coarse[d + x.x]);
    let east = (coarse[a + x.y] + coarse[b + x.y]) + (coarse[c + x.y] + coarse[d + x.y]);
    let value = 0.125 * (west + east);
    if ADD {
        fine[at] += value;
    } else {
        fine[at] = value;
    }
}
