//! DMEM addresses: one generator for all sections, and sections' own addresses.

use cp2_asm::isa::{Address, Mode, OwnAddress, Scalar};

/// Result of the address generator for one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    /// DMEM byte address of the access.
    pub address: u32,
    /// New value of the address register, where the mode updates it.
    pub next: Option<u32>,
}

/// Forms the address of an access of `bytes` and its register's next value.
#[inline(always)]
#[must_use]
pub fn generate(address: Address, bytes: u32, read: impl Fn(Scalar) -> u32) -> Generated {
    let a = read(Scalar::address(address.base));
    let step = |s| read(Scalar::step(s));
    let updated = |next| Generated {
        address: a,
        next: Some(next),
    };
    match address.mode {
        Mode::Offset(offset) => Generated {
            address: a.wrapping_add_signed(offset),
            next: None,
        },
        Mode::Post(increment) => updated(a.wrapping_add_signed(increment)),
        Mode::Step(s) => updated(a.wrapping_add(step(s))),
        Mode::Modulo(s) => {
            let i = address.base % Address::MODULO_REGISTERS;
            updated(modulo(
                a,
                step(s),
                read(Scalar::base(i)),
                read(Scalar::length(i)),
            ))
        }
        Mode::Reverse(s) => updated(reverse(a, step(s), bytes)),
    }
}

/// Forms the address of an access of `bytes` that a section makes with its own half-word of `pair`.
#[inline(always)]
#[must_use]
pub const fn own_address(own: OwnAddress, a: u32, pair: [u32; 2], bytes: u32) -> u32 {
    let lane = pair[(own.half / 2) as usize % 2];
    let half = (lane >> (16 * (own.half as u32 % 2))) & 0xffff;
    a.wrapping_add(half * bytes)
}

/// `a + s` kept in the circular buffer `b .. b + l`.
///
/// With `o = a + s - b` as a signed offset: `l` is added once when `o < 0`,
/// subtracted once when `o >= l`. One wrap only: a step longer than the buffer
/// may leave it. `l = 0` is linear. All arithmetic is modulo 2^32.
#[must_use]
pub const fn modulo(a: u32, s: u32, b: u32, l: u32) -> u32 {
    let next = a.wrapping_add(s);
    let offset = next.wrapping_sub(b);
    if (offset as i32) < 0 {
        seldom();
        next.wrapping_add(l)
    } else if offset >= l {
        seldom();
        next.wrapping_sub(l)
    } else {
        next
    }
}

/// Says that the branch to here is worth predicting, for pointers seldom come round.
#[cold]
#[inline]
const fn seldom() {}

/// `a + s` with the carry running from high bits to low: bit-reversed order.
///
/// A carry out of the bit worth `bytes`, the access's size (a power of two), is
/// dropped, so that a complete sweep returns to its start; the bits below it
/// stay as they are in `a` and do not count in `s`.
#[must_use]
pub const fn reverse(a: u32, s: u32, bytes: u32) -> u32 {
    let index = !bytes.wrapping_sub(1);
    let sum = (a & index)
        .reverse_bits()
        .wrapping_add((s & index).reverse_bits());
    sum.reverse_bits() & index | a & !index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_words_count_from_the_lower_half_of_lane_0() {
        let pair = [0x0002_0001, 0xffff_0003];
        let at = |half, bytes| {
            let (base, register) = (0, 0);
            let own = OwnAddress {
                base,
                register,
                half,
            };
            own_address(own, 0x100, pair, bytes)
        };
        assert_eq!(
            [at(0, 8), at(1, 8), at(2, 16), at(3, 16)],
            [0x108, 0x110, 0x130, 0x100 + 0xf_fff0]
        );
    }

    #[test]
    fn modulo_wraps_both_ways() {
        assert_eq!(modulo(0x118, 8, 0x100, 0x20), 0x100);
        assert_eq!(modulo(0x100, 8, 0x100, 0x20), 0x108);
        assert_eq!(modulo(0x100, 8u32.wrapping_neg(), 0x100, 0x20), 0x118);
        assert_eq!(modulo(0, 8u32.wrapping_neg(), 0, 0x40), 0x38);
    }

    #[test]
    fn modulo_of_no_length_is_linear() {
        assert_eq!(modulo(0x100, 0x40, 0x80, 0), 0x140);
        assert_eq!(modulo(0x100, 0u32.wrapping_sub(0xc0), 0x80, 0), 0x40);
    }

    #[test]
    fn modulo_wraps_once_only() {
        assert_eq!(modulo(0x100, 0x50, 0x100, 0x20), 0x130);
        assert_eq!(modulo(0x100, 0x50u32.wrapping_neg(), 0x100, 0x20), 0xd0);
    }

    #[test]
    fn reverse_sweeps_a_buffer_in_bit_reversed_order_and_comes_back() {
        // Bits below an element stay as they are.
        for (bytes, below) in [(8, 0), (8, 3), (16, 0), (16, 9)] {
            for log in 1..8u32 {
                let (count, base) = (1u32 << log, 0x1_0000 + below);
                let mut a = base;
                for i in 0..count {
                    let index = i.reverse_bits() >> (32 - log);
                    assert_eq!(a, base + index * bytes, "element {i} of {count}");
                    a = reverse(a, count / 2 * bytes, bytes);
                }
                assert_eq!(a, base);
            }
        }
    }
}
