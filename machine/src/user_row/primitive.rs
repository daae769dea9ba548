//! Primitives on one lane that the expression of a row may call.

/// Kind of number that an argument of a primitive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    /// A float.
    Float,
    /// An integer.
    Integer,
    /// Bits of either.
    Bits,
}

macro_rules! primitives {
    ($($name:ident $text:literal [$($kind:ident)*] ($muls:literal, $adds:literal, $stages:literal) $doc:literal;)*) => {
        /// An operation on one lane: what the expressions of rows are made of. The emulator gives each its
        /// meaning; `docs/numerics.md` defines it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Primitive { $(#[doc = $doc] $name),* }

        impl Primitive {
            /// All primitives.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the name in expressions.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Returns one line of documentation.
            pub(crate) const fn doc(self) -> &'static str {
                match self { $(Self::$name => $doc),* }
            }

            /// Returns the kinds of the arguments.
            pub(crate) const fn arguments(self) -> &'static [ArgumentKind] {
                match self { $(Self::$name => &[$(ArgumentKind::$kind),*]),* }
            }

            /// Returns the uses of a multiplier.
            #[must_use]
            pub const fn muls(self) -> u32 {
                match self { $(Self::$name => $muls),* }
            }

            /// Returns the uses of an adder.
            #[must_use]
            pub const fn adds(self) -> u32 {
                match self { $(Self::$name => $adds),* }
            }

            /// Returns the stages of the section's arithmetic that the primitive passes: 1, or 0 for operations
            /// on bits and integers.
            pub(crate) const fn stages(self) -> u32 {
                match self { $(Self::$name => $stages),* }
            }
        }
    };
}

// Columns: variant, name, arguments, (multiplies, adds, stages), documentation. The counts are those that the
// instruction table gives an operation with this primitive in each lane.
primitives! {
    Fadd "fadd" [Float Float] (0, 1, 1) "Float `a + b`.";
    Fsub "fsub" [Float Float] (0, 1, 1) "Float `a - b`.";
    Fmul "fmul" [Float Float] (1, 0, 1) "Float `a * b`.";
    Fmin "fmin" [Float Float] (0, 1, 1) "Smaller float.";
    Fmax "fmax" [Float Float] (0, 1, 1) "Larger float.";
    Feq "feq" [Float Float] (0, 1, 1) "Mask of `a == b` as floats.";
    Flt "flt" [Float Float] (0, 1, 1) "Mask of `a < b` as floats.";
    Fle "fle" [Float Float] (0, 1, 1) "Mask of `a <= b` as floats.";
    Ftoi "ftoi" [Float] (0, 0, 1) "Float to integer, toward zero.";
    Ftoin "ftoin" [Float] (0, 0, 1) "Float to nearest integer.";
    Itof "itof" [Integer] (0, 0, 1) "Integer to nearest float.";
    Iadd "iadd" [Integer Integer] (0, 0, 0) "Integer `a + b`.";
    Isub "isub" [Integer Integer] (0, 0, 0) "Integer `a - b`.";
    Imul "imul" [Integer Integer] (1, 0, 1) "Low 32 bits of the integer product.";
    Imin "imin" [Integer Integer] (0, 0, 0) "Smaller signed integer.";
    Imax "imax" [Integer Integer] (0, 0, 0) "Larger signed integer.";
    Ieq "ieq" [Integer Integer] (0, 0, 0) "Mask of `a == b` as integers.";
    Ilt "ilt" [Integer Integer] (0, 0, 0) "Mask of `a < b` as signed integers.";
    And "and" [Bits Bits] (0, 0, 0) "Bitwise and.";
    Or "or" [Bits Bits] (0, 0, 0) "Bitwise or.";
    Xor "xor" [Bits Bits] (0, 0, 0) "Bitwise exclusive or.";
    Andn "andn" [Bits Bits] (0, 0, 0) "`a` and not `b`.";
    Not "not" [Bits] (0, 0, 0) "Bitwise complement.";
    Shl "shl" [Bits Integer] (0, 0, 0) "`a` shifted left by `b`.";
    Shr "shr" [Bits Integer] (0, 0, 0) "`a` shifted right by `b`, zeros in.";
    Sar "sar" [Bits Integer] (0, 0, 0) "`a` shifted right by `b`, sign in.";
    Select "select" [Bits Bits Bits] (0, 0, 0) "Where `a` has ones `b`, else `c`.";
    Fneg "fneg" [Float] (0, 0, 0) "Flips the sign bit.";
    Fabs "fabs" [Float] (0, 0, 0) "Clears the sign bit.";
}

impl Primitive {
    /// Returns the text of a call: `fadd(a, b)`.
    pub(crate) fn call(self) -> String {
        let names = &["a", "b", "c"][..self.arguments().len().min(3)];
        format!("{}({})", self.name(), names.join(", "))
    }

    /// Returns the primitive of a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == name)
    }
}
