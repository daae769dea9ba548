// Filters by transforms of blocks in memory: a thread for each number of a block.

@group(0) @binding(3) var<storage, read> source: array<vec2f>;
@group(0) @binding(4) var<storage, read_write> target_: array<vec2f>;
@group(0) @binding(5) var<storage, read> spectrum: array<vec2f>;

// Numbers of a block, and transforms.
override M: u32 = 1u;
override TRANSFORMS: u32 = 1u;
// 0: samples to blocks. 1: products with the spectrum. 2: blocks to outputs.
override STAGE: u32 = 0u;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let at = (group.x + group.y * groups.x) * 256u + thread;
    if at >= M * TRANSFORMS {
        return;
    }
    if STAGE == 0u {
        target_[at] = load(at / M, at % M);
    } else if STAGE == 1u {
        let h = spectrum[at % M];
        let z = source[at];
        target_[at] = vec2f(h.x * z.x - h.y * z.y, h.x * z.y + h.y * z.x);
    } else {
        store(at / M, at % M, source[at]);
    }
}
