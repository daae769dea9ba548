// Filters as sums of products: a thread for each output.

@group(0) @binding(3) var<storage, read> taps: array<vec2f>;

override TAPS: u32 = 1u;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = (group.x + group.y * groups.x) * 256u + thread;
    if at >= CHANNELS * OUTPUTS {
        return;
    }
    let channel = at / OUTPUTS;
    let output = at % OUTPUTS * DECIMATE;
    let place = START + output;
    var sum = vec2f();
    // Only taps that meet a sample, and none of the zeros between two of them.
    for (var j = place % INTERPOLATE; j < TAPS && j <= place; j += INTERPOLATE) {
        let x = sample(channel, i32(place - j));
        let h = taps[j];
        if REAL {
            sum.x += h.x * x.x;
        } else {
            sum += vec2f(h.x * x.x - h.y * x.y, h.x * x.y + h.y * x.x);
        }
    }
    put(channel, output, sum);
}
