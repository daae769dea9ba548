// The right-hand side of the next coarser level: a thread for each coarse point J, around fine point 2 J + 1.

@group(0) @binding(0) var<storage, read> fine: array<f32>;
@group(0) @binding(1) var<storage, read_write> coarse: array<f32>;

// Extents of the coarse grid.
override PLANES: u32 = 1u;
override ROWS: u32 = 1u;
override COLUMNS: u32 = 1u;

fn row(z: u32, y: u32) -> u32 {
    return (z % (2u * PLANES) * (2u * ROWS) + y % (2u * ROWS)) * (2u * COLUMNS);
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
    let z = 2u * (at / (ROWS * COLUMNS)) + 1u;
    let y = 2u * (at / COLUMNS % ROWS) + 1u;
    let x = 2u * (at % COLUMNS) + 1u;
    var total = 0.0;
    for (var dx = 0u; dx < 3u; dx++) {
        let column = (x + dx - 1u) % (2u * COLUMNS);
        let beside = (fine[row(z - 1u, y) + column] + fine[row(z + 1u, y) + column])
            + (fine[row(z, y - 1u) + column] + fine[row(z, y + 1u) + column]);
        let corners = (fine[row(z - 1u, y - 1u) + column] + fine[row(z - 1u, y + 1u) + column])
            + (fine[row(z + 1u, y - 1u) + column] + fine[row(z + 1u, y + 1u) + column]);
        let across = fine[row(z, y) + column] + 0.5 * beside + 0.25 * corners;
        total += select(0.25, 0.5, dx == 1u) * across;
    }
    coarse[at] = total;
}
