// The samples and the outputs of filters. Channels are divided into blocks of HOP outputs of the full
// convolution; number i of a block is OVERLAP outputs before output i of these.

@group(0) @binding(0) var<storage, read> real_samples: array<f32>;
// The same array, as complex numbers.
@group(0) @binding(1) var<storage, read> complex_samples: array<vec2f>;
// Complex outputs, or two real ones each: a complex number is stored at once.
@group(0) @binding(2) var<storage, read_write> outputs: array<vec2f>;

override REAL: bool = false;
override CHANNELS: u32 = 1u;
override SAMPLES: u32 = 1u;
// The first output of the full convolution that is wanted, and outputs of a channel.
override START: u32 = 0u;
override OUTPUTS: u32 = 1u;
// Every DECIMATE-th output is wanted; INTERPOLATE - 1 zeros follow each sample.
override DECIMATE: u32 = 1u;
override INTERPOLATE: u32 = 1u;
// Distances of channels and of outputs in memory.
override CHANNEL_APART: u32 = 1u;
override OUTPUT_APART: u32 = 1u;
override HOP: u32 = 1u;
override OVERLAP: u32 = 0u;

override SPAN: u32 = (OUTPUTS - 1u) * DECIMATE + 1u;
override BLOCKS: u32 = (SPAN + HOP - 1u) / HOP;
override ALL_BLOCKS: u32 = CHANNELS * BLOCKS;
// Pairs of blocks of a real channel.
override PAIRS: u32 = (BLOCKS + 1u) / 2u;

// Returns a sample of a channel, at a place among samples and the zeros between them.
fn sample(channel: u32, place: i32) -> vec2f {
    let k = u32(max(place, 0));
    if place < 0 || k % INTERPOLATE != 0u || k / INTERPOLATE >= SAMPLES {
        return vec2f();
    }
    let at = channel * SAMPLES + k / INTERPOLATE;
    if REAL {
        return vec2f(real_samples[at], 0.0);
    }
    return complex_samples[at];
}

fn input_of_block(block: u32, i: u32) -> vec2f {
    if block >= ALL_BLOCKS {
        return vec2f();
    }
    let first = START + block % BLOCKS * HOP;
    return sample(block / BLOCKS, i32(first + i) - i32(OVERLAP));
}

// Stores output `output` of a channel, counted at the rate of samples, where it is wanted.
fn put(channel: u32, output: u32, z: vec2f) {
    if output % DECIMATE != 0u || output / DECIMATE >= OUTPUTS {
        return;
    }
    let at = channel * CHANNEL_APART + output / DECIMATE * OUTPUT_APART;
    if REAL {
        outputs[at / 2u][at % 2u] = z.x;
    } else {
        outputs[at] = z;
    }
}

fn put_of_block(block: u32, i: u32, z: vec2f) {
    if block < ALL_BLOCKS && i >= OVERLAP {
        put(block / BLOCKS, block % BLOCKS * HOP + i - OVERLAP, z);
    }
}

// Real channels are filtered two blocks of a channel at a time, as real and imaginary parts: rounding errors are
// relative to the larger one, so that two channels would disturb each other.
fn first_block(transform: u32) -> u32 {
    return transform / PAIRS * BLOCKS + 2u * (transform % PAIRS);
}

fn has_second_block(transform: u32) -> bool {
    return 2u * (transform % PAIRS) + 1u < BLOCKS;
}

fn load_block(transform: u32, i: u32) -> vec2f {
    if !REAL {
        return input_of_block(transform, i);
    }
    let block = first_block(transform);
    var both = vec2f(input_of_block(block, i).x, 0.0);
    if has_second_block(transform) {
        both.y = input_of_block(block + 1u, i).x;
    }
    return both;
}

fn store_block(transform: u32, i: u32, z: vec2f) {
    if !REAL {
        put_of_block(transform, i, z);
        return;
    }
    let block = first_block(transform);
    put_of_block(block, i, z);
    if has_second_block(transform) {
        put_of_block(block + 1u, i, vec2f(z.y, 0.0));
    }
}
