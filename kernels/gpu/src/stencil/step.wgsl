// One step of a stencil: every thread marches along planes. The sum over the points is generated.

// Coefficients of every element: planes, rows, points, columns.
@group(0) @binding(2) var<storage, read> coefficients: array<f32>;

// Points of the stencil.
override POINTS: u32 = 1u;

@compute @workgroup_size(WIDTH, HEIGHT)
fn main(
    @builtin(local_invocation_id) thread: vec3u,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let number = group.x + group.y * groups.x;
    let x = number % TILES_X * WIDTH + thread.x;
    let y = number / TILES_X % TILES_Y * HEIGHT + thread.y;
    let first = number / (TILES_X * TILES_Y) * MARCH;
    if x >= COLUMNS || y >= ROWS {
        return;
    }
    let xs = vec3i(near(x, -1, COLUMNS), i32(x), near(x, 1, COLUMNS));
    let ys = vec3i(near(y, -1, ROWS), i32(y), near(y, 1, ROWS));
    let at_edge = outermost(x, COLUMNS) || outermost(y, ROWS);
    for (var z = first; z < min(first + MARCH, PLANES); z++) {
        let at = (z * ROWS + y) * COLUMNS + x;
        if EDGE == 1u && (at_edge || (FLAT == 0u && outermost(z, PLANES))) {
            v[at] = u[at];
            continue;
        }
        let zs = vec3i(near(z, -1, PLANES), i32(z), near(z, 1, PLANES));
        v[at] = sum(zs, ys, xs, (z * ROWS + y) * POINTS * COLUMNS + x);
    }
}
