// One step of a stencil of three axes with a coefficient for each class of points. Every thread marches along
// planes and keeps three sums of each: the element, its four neighbours beside it, and the four at the corners.

override CENTRE: f32 = 1.0;
override FACES: f32 = 0.0;
override EDGES: f32 = 0.0;
override CORNERS: f32 = 0.0;

fn sums(plane: i32, ys: vec3i, xs: vec3i) -> vec3f {
    let beside = (value(plane, ys.y, xs.x) + value(plane, ys.y, xs.z))
        + (value(plane, ys.x, xs.y) + value(plane, ys.z, xs.y));
    let corners = (value(plane, ys.x, xs.x) + value(plane, ys.x, xs.z))
        + (value(plane, ys.z, xs.x) + value(plane, ys.z, xs.z));
    return vec3f(value(plane, ys.y, xs.y), beside, corners);
}

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
    if x >= COLUMNS || y >= ROWS || first >= PLANES {
        return;
    }
    let xs = vec3i(near(x, -1, COLUMNS), i32(x), near(x, 1, COLUMNS));
    let ys = vec3i(near(y, -1, ROWS), i32(y), near(y, 1, ROWS));
    let at_edge = outermost(x, COLUMNS) || outermost(y, ROWS);
    // The sums of a plane are called for in one place only: compilers keep them in registers then.
    var before = vec3f();
    var here = vec3f();
    let last = min(first + MARCH, PLANES) + 1u;
    for (var plane = first; plane <= last; plane++) {
        let next = sums(near(plane, -1, PLANES), ys, xs);
        if plane >= first + 2u {
            let z = plane - 2u;
            let both = before + next;
            let at = (z * ROWS + y) * COLUMNS + x;
            if EDGE == 1u && (at_edge || outermost(z, PLANES)) {
                v[at] = here.x;
            } else {
                var total = CENTRE * here.x + FACES * (here.y + both.x) + EDGES * (here.z + both.y);
                if CORNERS != 0.0 {
                    total += CORNERS * both.z;
                }
                v[at] = total;
            }
        }
        before = here;
        here = next;
    }
}
