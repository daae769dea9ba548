// One step of a stencil of three axes with a coefficient for each class of points. Every thread marches along
// planes with four elements below each other, which share neighbours, and keeps three sums of each plane: the
// elements, their four neighbours beside them, and the four at the corners.

// What the sums are added to.
@group(0) @binding(2) var<storage, read> base: array<f32>;

// 0 nothing, 1 the base, 2 earlier values of the result.
override BASE: u32 = 0u;
override CENTRE: f32 = 1.0;
override FACES: f32 = 0.0;
override EDGES: f32 = 0.0;
override CORNERS: f32 = 0.0;

// Rows of a thread.
const EACH = 4u;
override TILES_DOWN: u32 = (ROWS + EACH * HEIGHT - 1u) / (EACH * HEIGHT);

struct PlaneSums {
    own: vec4f,
    beside: vec4f,
    corners: vec4f,
}

// The element of a row, and the sum of the two beside it.
fn row_sums(plane: i32, row: i32, xs: vec3i) -> vec2f {
    return vec2f(value(plane, row, xs.y), value(plane, row, xs.x) + value(plane, row, xs.z));
}

fn plane_sums(plane: i32, above: i32, rows: vec4i, below: i32, xs: vec3i) -> PlaneSums {
    let a = row_sums(plane, above, xs);
    let b = row_sums(plane, rows.x, xs);
    let c = row_sums(plane, rows.y, xs);
    let d = row_sums(plane, rows.z, xs);
    let e = row_sums(plane, rows.w, xs);
    let f = row_sums(plane, below, xs);
    let own = vec4f(b.x, c.x, d.x, e.x);
    let beside = vec4f(b.y, c.y, d.y, e.y) + (vec4f(a.x, b.x, c.x, d.x) + vec4f(c.x, d.x, e.x, f.x));
    return PlaneSums(own, beside, vec4f(a.y, b.y, c.y, d.y) + vec4f(c.y, d.y, e.y, f.y));
}

// Stores a result in a row, if there is such a row.
fn put(plane: u32, row: u32, x: u32, own: f32, total: f32) {
    if row >= ROWS {
        return;
    }
    let at = (plane * ROWS + row) * COLUMNS + x;
    if EDGE == 1u && (outermost(x, COLUMNS) || outermost(row, ROWS) || outermost(plane, PLANES)) {
        v[at] = own;
    } else if BASE == 0u {
        v[at] = total;
    } else if BASE == 1u {
        v[at] = base[at] + total;
    } else {
        v[at] += total;
    }
}

@compute @workgroup_size(WIDTH, HEIGHT)
fn main(
    @builtin(local_invocation_id) thread: vec3u,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
) {
    let number = group.x + group.y * groups.x;
    let x = number % TILES_X * WIDTH + thread.x;
    let y = EACH * (number / TILES_X % TILES_DOWN * HEIGHT + thread.y);
    let first = number / (TILES_X * TILES_DOWN) * MARCH;
    if x >= COLUMNS || y >= ROWS || first >= PLANES {
        return;
    }
    let xs = vec3i(near(x, -1, COLUMNS), i32(x), near(x, 1, COLUMNS));
    let above = near(y, -1, ROWS);
    let rows = vec4i(
        i32(y), near(min(y + 1u, ROWS), 0, ROWS), near(min(y + 2u, ROWS), 0, ROWS), near(min(y + 3u, ROWS), 0, ROWS),
    );
    let below = near(min(y + 4u, ROWS), 0, ROWS);
    // The sums of a plane are called for in one place only: compilers keep them in registers then.
    var before = PlaneSums();
    var here = PlaneSums();
    let last = min(first + MARCH, PLANES) + 1u;
    for (var plane = first; plane <= last; plane++) {
        let next = plane_sums(near(plane, -1, PLANES), above, rows, below, xs);
        if plane >= first + 2u {
            var total = CENTRE * here.own + FACES * (here.beside + (before.own + next.own))
                + EDGES * (here.corners + (before.beside + next.beside));
            if CORNERS != 0.0 {
                total += CORNERS * (before.corners + next.corners);
            }
            put(plane - 2u, y, x, here.own.x, total.x);
            put(plane - 2u, y + 1u, x, here.own.y, total.y);
            put(plane - 2u, y + 2u, x, here.own.z, total.z);
            put(plane - 2u, y + 3u, x, here.own.w, total.w);
        }
        before = here;
        here = next;
    }
}
