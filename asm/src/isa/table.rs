//! The instruction table: one row per operation.
//!
//! A row holds everything about its operation but the semantics, which `cp2-emu` must define for every [`Op`]
//! to compile.
//!
//! Columns: variant, mnemonic, form, (major, minor) opcode, latency class,
//! required extensions, (multiplies, adds) per section, documentation.

use super::form::{Form, Slot};
use super::user;
use cp2_machine::{Class, Extensions, UserRow};

/// A row of the table.
#[derive(Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// Assembler name. Several rows may share one if their operands tell them apart.
    pub mnemonic: &'static str,
    /// Operands and encoding.
    pub form: Form,
    /// Major opcode: the top five bits of the slot.
    pub major: u8,
    /// Minor opcode, zero where the form has none.
    pub minor: u8,
    /// Latency class: the unit that produces the result. The machine file gives its latency and interval.
    pub class: Class,
    /// Extensions the machine must have.
    pub requires: Extensions,
    /// Floating-point multiplies per section (or uses of the multipliers by an integer product).
    pub muls: u8,
    /// Floating-point adds per section.
    pub adds: u8,
    /// One line for the manual.
    pub doc: &'static str,
}

impl Row {
    /// Returns the latency in cycles of a row of a machine file that has one of its own.
    pub(crate) fn own_latency(&self) -> Option<u64> {
        match self.op {
            Op::User(row) => row.definition().latency.map(|cycles| cycles.0),
            _ => None,
        }
    }

    /// Returns the slot that the row belongs to.
    #[must_use]
    pub const fn slot(&self) -> Slot {
        self.form.slot()
    }
}

macro_rules! rows {
    ($d:tt $($op:ident $mnemonic:literal $form:ident ($major:literal, $minor:literal) $class:ident $ext:ident ($muls:literal, $adds:literal) $doc:literal;)*) => {
        /// Every operation of the instruction set.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op {
            $(#[doc = $doc] $op,)*
            /// A row of a machine file.
            User(UserRow),
        }

        /// The operations of the table, in its order.
        enum Place { $($op),* }

        impl Op {
            /// All operations of the table, in its order.
            pub const ALL: &'static [Self] = &[$(Self::$op),*];

            /// Returns the operation's row.
            #[must_use]
            pub fn row(self) -> &'static Row {
                match self {
                    Self::User(row) => user::table_row(row),
                    op => &ROWS[op.place() % ROWS.len()],
                }
            }

            /// Returns the place in the table; for a row of a machine file, the number of places.
            #[must_use]
            pub const fn place(self) -> usize {
                match self {
                    $(Self::$op => Place::$op as usize,)*
                    Self::User(_) => Self::ALL.len(),
                }
            }
        }

        /// Calls a macro with the names of all operations, for tables that have
        /// one function per operation.
        #[macro_export]
        macro_rules! for_each_op {
            ($d then:ident) => {
                $d then! { $($op)* }
            };
        }

        static ROWS: [Row; Op::ALL.len()] = [$(Row {
            op: Op::$op,
            mnemonic: $mnemonic,
            form: Form::$form,
            major: $major,
            minor: $minor,
            class: Class::$class,
            requires: ext::$ext,
            muls: $muls,
            adds: $adds,
            doc: $doc,
        }),*];
    };
}

/// Short names of extensions for the table's column.
mod ext {
    use cp2_machine::Extensions;
    pub(super) const BASE: Extensions = Extensions::empty();
    pub(super) const OWN: Extensions = Extensions::SECTION_ADDRESSING;
    pub(super) const WORDS: Extensions = Extensions::WORD_ADDRESSING;
    pub(super) const CROSS: Extensions = Extensions::EXCHANGE;
    pub(super) const MASKS: Extensions = Extensions::CONDITIONAL;
    pub(super) const DOUBLE: Extensions = Extensions::DOUBLE;
    pub(super) const ERRORS: Extensions = Extensions::DOUBLE_SINGLE;
    pub(super) const OWN_WORDS: Extensions = OWN.union(WORDS);
}

rows! { $
    // --- arithmetic slot ---------------------------------------------------
    Nop     "nop"   ArithNone (0, 0) Control BASE (0, 0) "No arithmetic operation.";

    MovP    "mov"   P2 (1, 0)  Integer BASE (0, 0) "d = a.";
    AbsP    "abs"   P2 (1, 1)  Integer BASE (0, 0) "d = |a|: clears the sign bit.";
    NegP    "neg"   P2 (1, 2)  Integer BASE (0, 0) "d = -a: flips the sign bit.";
    ConjP   "conj"  P2 (1, 3)  Integer BASE (0, 0) "d = (a0, -a1): flips the sign bit of lane 1.";
    SwapP   "swap"  P2 (1, 4)  Integer BASE (0, 0) "d = (a1, a0).";
    Dup0P   "dup0"  P2 (1, 5)  Integer BASE (0, 0) "d = (a0, a0).";
    Dup1P   "dup1"  P2 (1, 6)  Integer BASE (0, 0) "d = (a1, a1).";
    NotP    "not"   P2 (1, 7)  Integer BASE (0, 0) "d = bitwise complement of a.";
    FtoiP   "ftoi"  P2 (1, 8)  Add     BASE (0, 0) "Float to i32, toward zero, saturating; NaN gives 0.";
    FtoinP  "ftoin" P2 (1, 9)  Add     BASE (0, 0) "Float to i32, to nearest even, saturating; NaN gives 0.";
    ItofP   "itof"  P2 (1, 10) Add     BASE (0, 0) "i32 to float, to nearest even.";
    Rcp     "rcp"   P2 (1, 16) Elementary BASE (0, 0) "Reciprocal 1/a, correctly rounded.";
    Rsqrt   "rsqrt" P2 (1, 17) Elementary BASE (0, 0) "Reciprocal square root of a, error below 0.5 + 2^-26 ulp.";
    Exp2    "exp2"  P2 (1, 18) Elementary BASE (0, 0) "2 to the power a, error below 0.5 + 2^-26 ulp.";
    Log2    "log2"  P2 (1, 19) Elementary BASE (0, 0) "Base-2 logarithm of a, error below 0.5 + 2^-26 ulp.";
    Sin     "sin"   P2 (1, 20) Elementary BASE (0, 0) "Sine of a turns, sin(2 pi a), error below 0.5 + 2^-26 ulp.";
    Cos     "cos"   P2 (1, 21) Elementary BASE (0, 0) "Cosine of a turns, cos(2 pi a), error below 0.5 + 2^-26 ulp.";

    MovQ    "mov"   Q2 (2, 0)  Integer BASE (0, 0) "d = a.";
    AbsQ    "abs"   Q2 (2, 1)  Integer BASE (0, 0) "d = |a|: clears the sign bits.";
    NegQ    "neg"   Q2 (2, 2)  Integer BASE (0, 0) "d = -a: flips the sign bits.";
    ConjQ   "conj"  Q2 (2, 3)  Integer BASE (0, 0) "d = (a0, -a1, a2, -a3).";
    SwapQ   "swap"  Q2 (2, 4)  Integer BASE (0, 0) "d = (a1, a0, a3, a2).";
    NotQ    "not"   Q2 (2, 7)  Integer BASE (0, 0) "d = bitwise complement of a.";
    FtoiQ   "ftoi"  Q2 (2, 8)  Add     BASE (0, 0) "Float to i32, toward zero, saturating; NaN gives 0.";
    FtoinQ  "ftoin" Q2 (2, 9)  Add     BASE (0, 0) "Float to i32, to nearest even, saturating; NaN gives 0.";
    ItofQ   "itof"  Q2 (2, 10) Add     BASE (0, 0) "i32 to float, to nearest even.";

    AddP    "add"   P3 (3, 0)  Add BASE (0, 2) "d = a + b.";
    SubP    "sub"   P3 (3, 1)  Add BASE (0, 2) "d = a - b.";
    MulP    "mul"   P3 (3, 2)  Add BASE (2, 0) "d = a * b, lane by lane.";
    MinP    "min"   P3 (3, 3)  Add BASE (0, 2) "Smaller of a and b; -0 < +0; NaN if either is NaN.";
    MaxP    "max"   P3 (3, 4)  Add BASE (0, 2) "Larger of a and b; -0 < +0; NaN if either is NaN.";
    CmpeqP  "cmpeq" P3 (3, 5)  Add BASE (0, 2) "Mask: all ones where a = b, else zero; NaN compares false.";
    CmpltP  "cmplt" P3 (3, 6)  Add BASE (0, 2) "Mask: all ones where a < b, else zero; NaN compares false.";
    CmpleP  "cmple" P3 (3, 7)  Add BASE (0, 2) "Mask: all ones where a <= b, else zero; NaN compares false.";
    CmulP   "cmul"  P3 (3, 8)  Madd BASE (4, 2) "Complex product a * b.";
    CmulcP  "cmulc" P3 (3, 9)  Madd BASE (4, 2) "Complex product a * conj(b).";
    IaddP   "iadd"  P3 (3, 16) Integer BASE (0, 0) "Integer a + b, wrapping.";
    IsubP   "isub"  P3 (3, 17) Integer BASE (0, 0) "Integer a - b, wrapping.";
    ImulP   "imul"  P3 (3, 18) Add BASE (2, 0) "Low 32 bits of the integer product.";
    AndP    "and"   P3 (3, 19) Integer BASE (0, 0) "Bitwise and.";
    OrP     "or"    P3 (3, 20) Integer BASE (0, 0) "Bitwise or.";
    XorP    "xor"   P3 (3, 21) Integer BASE (0, 0) "Bitwise exclusive or.";
    AndnP   "andn"  P3 (3, 22) Integer BASE (0, 0) "a and not b.";
    ShlP    "shl"   P3 (3, 23) Integer BASE (0, 0) "a shifted left by b lane by lane; counts of 32 and more give 0.";
    ShrP    "shr"   P3 (3, 24) Integer BASE (0, 0) "a shifted right by b, zeros in; counts of 32 and more give 0.";
    SarP    "sar"   P3 (3, 25) Integer BASE (0, 0) "a shifted right by b, sign in; counts of 32 and more act as 31.";
    IminP   "imin"  P3 (3, 26) Integer BASE (0, 0) "Smaller of a and b as signed integers.";
    ImaxP   "imax"  P3 (3, 27) Integer BASE (0, 0) "Larger of a and b as signed integers.";
    IcmpeqP "icmpeq" P3 (3, 28) Integer BASE (0, 0) "Mask where a = b as integers.";
    IcmpltP "icmplt" P3 (3, 29) Integer BASE (0, 0) "Mask where a < b as signed integers.";
    TrnloP  "trnlo" P3 (3, 32) Integer BASE (0, 0) "d = (a0, b0): first row of the 2x2 transpose.";
    TrnhiP  "trnhi" P3 (3, 33) Integer BASE (0, 0) "d = (a1, b1): second row of the 2x2 transpose.";
    ExtP    "ext"   P3 (3, 34) Integer BASE (0, 0) "d = (a1, b0): shift by one lane across two registers.";

    AddQ    "add"   Q3 (4, 0)  Add BASE (0, 4) "d = a + b.";
    SubQ    "sub"   Q3 (4, 1)  Add BASE (0, 4) "d = a - b.";
    MulQ    "mul"   Q3 (4, 2)  Add BASE (4, 0) "d = a * b, lane by lane.";
    MinQ    "min"   Q3 (4, 3)  Add BASE (0, 4) "Smaller of a and b; -0 < +0; NaN if either is NaN.";
    MaxQ    "max"   Q3 (4, 4)  Add BASE (0, 4) "Larger of a and b; -0 < +0; NaN if either is NaN.";
    CmpeqQ  "cmpeq" Q3 (4, 5)  Add BASE (0, 4) "Mask: all ones where a = b, else zero; NaN compares false.";
    CmpltQ  "cmplt" Q3 (4, 6)  Add BASE (0, 4) "Mask: all ones where a < b, else zero; NaN compares false.";
    CmpleQ  "cmple" Q3 (4, 7)  Add BASE (0, 4) "Mask: all ones where a <= b, else zero; NaN compares false.";
    IaddQ   "iadd"  Q3 (4, 16) Integer BASE (0, 0) "Integer a + b, wrapping.";
    IsubQ   "isub"  Q3 (4, 17) Integer BASE (0, 0) "Integer a - b, wrapping.";
    ImulQ   "imul"  Q3 (4, 18) Add BASE (4, 0) "Low 32 bits of the integer product.";
    AndQ    "and"   Q3 (4, 19) Integer BASE (0, 0) "Bitwise and.";
    OrQ     "or"    Q3 (4, 20) Integer BASE (0, 0) "Bitwise or.";
    XorQ    "xor"   Q3 (4, 21) Integer BASE (0, 0) "Bitwise exclusive or.";
    AndnQ   "andn"  Q3 (4, 22) Integer BASE (0, 0) "a and not b.";
    ShlQ    "shl"   Q3 (4, 23) Integer BASE (0, 0) "a shifted left by b lane by lane; counts of 32 and more give 0.";
    ShrQ    "shr"   Q3 (4, 24) Integer BASE (0, 0) "a shifted right by b, zeros in; counts of 32 and more give 0.";
    SarQ    "sar"   Q3 (4, 25) Integer BASE (0, 0) "a shifted right by b, sign in; counts of 32 and more act as 31.";
    IminQ   "imin"  Q3 (4, 26) Integer BASE (0, 0) "Smaller of a and b as signed integers.";
    ImaxQ   "imax"  Q3 (4, 27) Integer BASE (0, 0) "Larger of a and b as signed integers.";
    IcmpeqQ "icmpeq" Q3 (4, 28) Integer BASE (0, 0) "Mask where a = b as integers.";
    IcmpltQ "icmplt" Q3 (4, 29) Integer BASE (0, 0) "Mask where a < b as signed integers.";
    TrnloQ  "trnlo" Q3 (4, 32) Integer BASE (0, 0) "d = (a.lo, b.lo): first row of the 2x2 transpose of pairs.";
    TrnhiQ  "trnhi" Q3 (4, 33) Integer BASE (0, 0) "d = (a.hi, b.hi): second row of the 2x2 transpose of pairs.";

    MaddP   "madd"  P4 (5, 0)  Madd BASE (2, 2) "d = a * b + c, the product rounded first.";
    MsubP   "msub"  P4 (5, 1)  Madd BASE (2, 2) "d = a * b - c, the product rounded first.";
    NmaddP  "nmadd" P4 (5, 2)  Madd BASE (2, 2) "d = -(a * b) - c, the product rounded first.";
    NmsubP  "nmsub" P4 (5, 3)  Madd BASE (2, 2) "d = c - a * b, the product rounded first.";
    SelP    "sel"   P4 (5, 4)  Integer BASE (0, 0) "Bitwise select: where c has ones a, else b.";
    CmaddP  "cmadd" P4 (5, 8)  Madd BASE (4, 4) "Complex a * b + c, the product rounded first.";
    CmaddcP "cmaddc" P4 (5, 9) Madd BASE (4, 4) "Complex a * conj(b) + c, the product rounded first.";
    CmsubP  "cmsub" P4 (5, 10) Madd BASE (4, 4) "Complex c - a * b, the product rounded first.";
    CmsubcP "cmsubc" P4 (5, 11) Madd BASE (4, 4) "Complex c - a * conj(b), the product rounded first.";

    MaddQ   "madd"  Q4 (6, 0)  Madd BASE (4, 4) "d = a * b + c, the product rounded first.";
    MsubQ   "msub"  Q4 (6, 1)  Madd BASE (4, 4) "d = a * b - c, the product rounded first.";
    NmaddQ  "nmadd" Q4 (6, 2)  Madd BASE (4, 4) "d = -(a * b) - c, the product rounded first.";
    NmsubQ  "nmsub" Q4 (6, 3)  Madd BASE (4, 4) "d = c - a * b, the product rounded first.";
    SelQ    "sel"   Q4 (6, 4)  Integer BASE (0, 0) "Bitwise select: where c has ones a, else b.";

    Addsub  "addsub" P22 (7, 0) Add BASE (0, 4) "d = a + b and e = a - b.";

    ShliP   "shli"  PShift (8, 0) Integer BASE (0, 0) "a shifted left by n.";
    ShriP   "shri"  PShift (8, 1) Integer BASE (0, 0) "a shifted right by n, zeros in.";
    SariP   "sari"  PShift (8, 2) Integer BASE (0, 0) "a shifted right by n, sign in.";
    ShliQ   "shli"  QShift (8, 3) Integer BASE (0, 0) "a shifted left by n.";
    ShriQ   "shri"  QShift (8, 4) Integer BASE (0, 0) "a shifted right by n, zeros in.";
    SariQ   "sari"  QShift (8, 5) Integer BASE (0, 0) "a shifted right by n, sign in.";
    PermQ   "perm"  QPerm (8, 6)  Integer BASE (0, 0) "Lane i of d is lane (lanes >> 2i) & 3 of a.";
    ExtQ    "ext"   QExt (8, 7)   Integer BASE (0, 0) "Lanes n .. n+3 of the eight lanes a:b.";

    Lif     "lif"   PFloat (9, 0)  Integer BASE (0, 0) "Both lanes = a float whose low eight bits are zero.";
    Lii     "lii"   PInt (10, 0)   Integer BASE (0, 0) "Both lanes = a signed 24-bit integer.";

    Bfly    "bfly"    Butterfly (16, 0) Butterfly BASE (4, 6) "d = x + y*w, e = x - y*w.";
    BflyC   "bflyc"   Butterfly (17, 0) Butterfly BASE (4, 6) "d = x + y*conj(w), e = x - y*conj(w).";
    BflyI   "bflyi"   Butterfly (18, 0) Butterfly BASE (4, 6) "d = x + i*(y*w), e = x - i*(y*w).";
    BflyCI  "bflyci"  Butterfly (19, 0) Butterfly BASE (4, 6) "d = x + i*(y*conj(w)), e = x - i*(y*conj(w)).";
    BflyN   "bflyn"   Butterfly (20, 0) Butterfly BASE (4, 6) "d = x - i*(y*w), e = x + i*(y*w).";
    BflyCN  "bflycn"  Butterfly (21, 0) Butterfly BASE (4, 6) "d = x - i*(y*conj(w)), e = x + i*(y*conj(w)).";
    BflyY   "bflyy"   Butterfly (22, 0) Butterfly BASE (4, 6) "d = x + conj(y)*w, e = x - conj(y)*w.";
    BflyYI  "bflyyi"  Butterfly (23, 0) Butterfly BASE (4, 6) "d = x + i*(conj(y)*w), e = x - i*(conj(y)*w).";
    BflyYN  "bflyyn"  Butterfly (24, 0) Butterfly BASE (4, 6) "d = x - i*(conj(y)*w), e = x + i*(conj(y)*w).";
    BflyYC  "bflyyc"  Butterfly (25, 0) Butterfly BASE (4, 6) "d = x + conj(y)*conj(w), e = x - conj(y)*conj(w).";

    DnegP   "dneg"  P2 (12, 0)  Integer DOUBLE (0, 0) "d = -a, binary64: flips the sign bit.";
    DabsP   "dabs"  P2 (12, 1)  Integer DOUBLE (0, 0) "d = |a|, binary64: clears the sign bit.";
    DtofP   "dtof"  P2 (12, 2)  DoubleAdd DOUBLE (0, 0) "Both lanes = the binary64 number a as a float, to nearest even.";
    FtodP   "ftod"  P2 (12, 3)  DoubleAdd DOUBLE (0, 0) "d = the float in lane 0 of a as a binary64 number.";
    DaddP   "dadd"  P3 (12, 16) DoubleAdd DOUBLE (0, 1) "d = a + b, binary64.";
    DsubP   "dsub"  P3 (12, 17) DoubleAdd DOUBLE (0, 1) "d = a - b, binary64.";
    DmulP   "dmul"  P3 (12, 18) DoubleAdd DOUBLE (1, 0) "d = a * b, binary64.";
    DminP   "dmin"  P3 (12, 19) DoubleAdd DOUBLE (0, 1) "Smaller of a and b, binary64; -0 < +0; NaN if either is NaN.";
    DmaxP   "dmax"  P3 (12, 20) DoubleAdd DOUBLE (0, 1) "Larger of a and b, binary64; -0 < +0; NaN if either is NaN.";
    DcmpeqP "dcmpeq" P3 (12, 21) DoubleAdd DOUBLE (0, 1) "Mask of 64 bits where a = b, binary64; NaN compares false.";
    DcmpltP "dcmplt" P3 (12, 22) DoubleAdd DOUBLE (0, 1) "Mask of 64 bits where a < b, binary64; NaN compares false.";
    DcmpleP "dcmple" P3 (12, 23) DoubleAdd DOUBLE (0, 1) "Mask of 64 bits where a <= b, binary64; NaN compares false.";
    DmaddP  "dmadd"  P4 (12, 32) DoubleMadd DOUBLE (1, 1) "d = a * b + c, binary64, the product rounded first.";
    DmsubP  "dmsub"  P4 (12, 33) DoubleMadd DOUBLE (1, 1) "d = a * b - c, binary64, the product rounded first.";
    DnmaddP "dnmadd" P4 (12, 34) DoubleMadd DOUBLE (1, 1) "d = -(a * b) - c, binary64, the product rounded first.";
    DnmsubP "dnmsub" P4 (12, 35) DoubleMadd DOUBLE (1, 1) "d = c - a * b, binary64, the product rounded first.";

    DnegQ   "dneg"  Q2 (13, 0)  Integer DOUBLE (0, 0) "d = -a, two binary64 numbers: flips the sign bits.";
    DabsQ   "dabs"  Q2 (13, 1)  Integer DOUBLE (0, 0) "d = |a|, two binary64 numbers: clears the sign bits.";
    DtofQ   "dtof"  PairOfQuad (13, 2) DoubleAdd DOUBLE (0, 0) "The lanes of d = the two binary64 numbers of a as floats, to nearest even.";
    FtodQ   "ftod"  QuadOfPair (13, 3) DoubleAdd DOUBLE (0, 0) "d = the floats in both lanes of a as two binary64 numbers.";
    DaddQ   "dadd"  Q3 (13, 16) DoubleAdd DOUBLE (0, 2) "d = a + b, two binary64 numbers.";
    DsubQ   "dsub"  Q3 (13, 17) DoubleAdd DOUBLE (0, 2) "d = a - b, two binary64 numbers.";
    DmulQ   "dmul"  Q3 (13, 18) DoubleAdd DOUBLE (2, 0) "d = a * b, two binary64 numbers.";
    DminQ   "dmin"  Q3 (13, 19) DoubleAdd DOUBLE (0, 2) "Smaller of a and b, two binary64 numbers; -0 < +0; NaN if either is NaN.";
    DmaxQ   "dmax"  Q3 (13, 20) DoubleAdd DOUBLE (0, 2) "Larger of a and b, two binary64 numbers; -0 < +0; NaN if either is NaN.";
    DcmpeqQ "dcmpeq" Q3 (13, 21) DoubleAdd DOUBLE (0, 2) "Masks of 64 bits where a = b, binary64; NaN compares false.";
    DcmpltQ "dcmplt" Q3 (13, 22) DoubleAdd DOUBLE (0, 2) "Masks of 64 bits where a < b, binary64; NaN compares false.";
    DcmpleQ "dcmple" Q3 (13, 23) DoubleAdd DOUBLE (0, 2) "Masks of 64 bits where a <= b, binary64; NaN compares false.";
    DmaddQ  "dmadd"  Q4 (13, 32) DoubleMadd DOUBLE (2, 2) "d = a * b + c, two binary64 numbers, the product rounded first.";
    DmsubQ  "dmsub"  Q4 (13, 33) DoubleMadd DOUBLE (2, 2) "d = a * b - c, two binary64 numbers, the product rounded first.";
    DnmaddQ "dnmadd" Q4 (13, 34) DoubleMadd DOUBLE (2, 2) "d = -(a * b) - c, two binary64 numbers, the product rounded first.";
    DnmsubQ "dnmsub" Q4 (13, 35) DoubleMadd DOUBLE (2, 2) "d = c - a * b, two binary64 numbers, the product rounded first.";

    Dcmul   "dcmul"  Q3 (14, 0) DoubleComplex DOUBLE (4, 2) "Complex product a * b, binary64.";
    Dcmulc  "dcmulc" Q3 (14, 1) DoubleComplex DOUBLE (4, 2) "Complex product a * conj(b), binary64.";
    Dcmadd  "dcmadd" Q4 (14, 2) DoubleComplex DOUBLE (4, 4) "Complex a * b + c, binary64, the product rounded first.";
    Dcmsub  "dcmsub" Q4 (14, 3) DoubleComplex DOUBLE (4, 4) "Complex c - a * b, binary64, the product rounded first.";
    Dbfly   "dbfly"    QuadButterfly (26, 0) DoubleComplex DOUBLE (4, 6) "d = x + y*w, e = x - y*w, binary64.";
    DbflyC  "dbflyc"   QuadButterfly (27, 0) DoubleComplex DOUBLE (4, 6) "d = x + y*conj(w), e = x - y*conj(w), binary64.";
    DbflyI  "dbflyi"   QuadButterfly (28, 0) DoubleComplex DOUBLE (4, 6) "d = x + i*(y*w), e = x - i*(y*w), binary64.";
    DbflyCI "dbflyci"  QuadButterfly (29, 0) DoubleComplex DOUBLE (4, 6) "d = x + i*(y*conj(w)), e = x - i*(y*conj(w)), binary64.";
    DbflyN  "dbflyn"   QuadButterfly (30, 0) DoubleComplex DOUBLE (4, 6) "d = x - i*(y*w), e = x + i*(y*w), binary64.";
    DbflyCN "dbflycn"  QuadButterfly (31, 0) DoubleComplex DOUBLE (4, 6) "d = x - i*(y*conj(w)), e = x + i*(y*conj(w)), binary64.";

    AddeP   "adde"  P3 (11, 0) Error ERRORS (0, 2) "Rounding error of a + b: with s = a + b, t = s - a, it is (a - (s - t)) + (b - t).";
    MuleP   "mule"  P3 (11, 1) Error ERRORS (2, 0) "Rounding error of a * b: the exact product minus the rounded one.";
    AddeQ   "adde"  Q3 (11, 2) Error ERRORS (0, 4) "Rounding error of a + b: with s = a + b, t = s - a, it is (a - (s - t)) + (b - t).";
    MuleQ   "mule"  Q3 (11, 3) Error ERRORS (4, 0) "Rounding error of a * b: the exact product minus the rounded one.";

    // --- memory and control slot -------------------------------------------
    MemNop  "mnop"  MemNone (0, 0) Control BASE (0, 0) "No memory or control operation.";
    Stop    "stop"  MemNone (0, 1) Control BASE (0, 0) "End of the kernel; waits until every result is written.";
    Ret     "ret"   MemNone (0, 2) Control BASE (0, 0) "Return to the word after the last call.";
    Wait    "wait"  Event (0, 8) Control BASE (0, 0) "Wait until the event's counter is not zero, then decrement it.";
    Signal  "signal" Event (0, 9) Control BASE (0, 0) "Signal the event to the control CPU.";
    Msk     "msk"   MaskQuad (0, 32) Control MASKS (0, 0) "From the next word on, only lanes whose sign bit is set in a are written.";
    MskAll  "mskall" MemNone (0, 33) Control MASKS (0, 0) "From the next word on, all lanes are written.";
    AnyX    "any"   VoteQuad (0, 34) Vote MASKS (0, 0) "x = 1 if a lane of any section has its sign bit set in a, else 0.";
    AllX    "all"   VoteQuad (0, 35) Vote MASKS (0, 0) "x = 1 if all lanes of all sections have their sign bit set in a, else 0.";
    MovX    "mov"   Scalar2 (0, 16) Scalar BASE (0, 0) "x = y.";
    AddX    "add"   Scalar3 (0, 17) Scalar BASE (0, 0) "x = y + z, wrapping.";
    SubX    "sub"   Scalar3 (0, 18) Scalar BASE (0, 0) "x = y - z, wrapping.";
    MulX    "mul"   Scalar3 (0, 19) Scalar BASE (0, 0) "x = low 32 bits of y * z.";
    AndX    "and"   Scalar3 (0, 20) Scalar BASE (0, 0) "x = y and z.";
    OrX     "or"    Scalar3 (0, 21) Scalar BASE (0, 0) "x = y or z.";
    ShlX    "shl"   ScalarShift (0, 24) Scalar BASE (0, 0) "x = y shifted left by n.";
    ShrX    "shr"   ScalarShift (0, 25) Scalar BASE (0, 0) "x = y shifted right by n, zeros in.";
    SarX    "sar"   ScalarShift (0, 26) Scalar BASE (0, 0) "x = y shifted right by n, sign in.";

    Movi    "movi"  ScalarImm (1, 0) Scalar BASE (0, 0) "x = value, sign-extended from 18 bits.";
    Movhi   "movhi" ScalarHigh (2, 0) Scalar BASE (0, 0) "Upper half of x = value; the lower half stays.";
    Addi    "addi"  ScalarAddImm (3, 0) Scalar BASE (0, 0) "x = y + value, wrapping.";

    LoopI   "loop"  LoopImm (4, 0) Control BASE (0, 0) "Run the words up to `end` count times.";
    LoopX   "loop"  LoopReg (5, 0) Control BASE (0, 0) "Run the words up to `end` x times; skip them when x is 0.";
    Jmp     "jmp"   Jump (6, 0) Control BASE (0, 0) "Continue at target.";
    Call    "call"  Jump (7, 0) Control BASE (0, 0) "Continue at target; ret comes back to the next word.";
    Bz      "bz"    Branch (8, 0) Control BASE (0, 0) "Branch if x = 0.";
    Bnz     "bnz"   Branch (9, 0) Control BASE (0, 0) "Branch if x is not 0.";
    Bneg    "bneg"  Branch (10, 0) Control BASE (0, 0) "Branch if x < 0, signed.";
    Bpos    "bpos"  Branch (11, 0) Control BASE (0, 0) "Branch if x >= 0, signed.";

    LdP     "ldp"   LoadPair (16, 0)   Load BASE (0, 0) "Load a pair from each section's DMEM.";
    LdQ     "ldq"   LoadQuad (17, 0)   Load BASE (0, 0) "Load a quad from each section's DMEM.";
    LdDup   "ldd"   LoadDup (18, 0)    Load BASE (0, 0) "Load a pair into both halves of a quad.";
    StP     "stp"   StorePair (19, 0)  Control BASE (0, 0) "Store a pair to each section's DMEM.";
    StQ     "stq"   StoreQuad (20, 0)  Control BASE (0, 0) "Store a quad to each section's DMEM.";
    LdX     "ldx"   LoadScalar (21, 0)  ScalarLoad BASE (0, 0) "Scalar = first word of the pair in section 0's DMEM.";
    LdX2    "ldx2"  LoadScalar2 (22, 0) ScalarLoad BASE (0, 0) "Two scalars = the pair in section 0's DMEM.";

    LdOwnP   "ldp"  GatherPair (23, 0) Gather OWN (0, 0) "Load a pair, each section at its own address.";
    LdOwnQ   "ldq"  GatherQuad (23, 1) Gather OWN (0, 0) "Load a quad, each section at its own address.";
    LdOwnDup "ldd"  GatherDup (23, 2)  Gather OWN (0, 0) "Load a pair into both halves of a quad, each section at its own address.";
    LdOwnW   "ldw"  GatherWord (23, 5) Gather OWN_WORDS (0, 0) "Load a word into both lanes of a pair, each section at its own address.";

    RotP    "rot"   RotatePair (12, 0)   Exchange CROSS (0, 0) "d = a of section (s + n) mod the number of sections.";
    RotQ    "rot"   RotateQuad (12, 1)   Exchange CROSS (0, 0) "d = a of section (s + n) mod the number of sections.";
    XchgP   "xchg"  ExchangePair (12, 2) Exchange CROSS (0, 0) "b of section s and a of section s xor n change places, where s is the smaller of both.";
    XchgQ   "xchg"  ExchangeQuad (12, 3) Exchange CROSS (0, 0) "b of section s and a of section s xor n change places, where s is the smaller of both.";

    LdNextP "ldpnext" LoadPair (13, 0) Neighbour CROSS (0, 0) "Load a pair from the DMEM of the next section, s + 1; behind the last comes section 0.";
    LdNextQ "ldqnext" LoadQuad (14, 0) Neighbour CROSS (0, 0) "Load a quad from the DMEM of the next section, s + 1; behind the last comes section 0.";
    LdPrevP "ldpprev" LoadPair (30, 0) Neighbour CROSS (0, 0) "Load a pair from the DMEM of the section before, s - 1; before section 0 comes the last.";
    LdPrevQ "ldqprev" LoadQuad (31, 0) Neighbour CROSS (0, 0) "Load a quad from the DMEM of the section before, s - 1; before section 0 comes the last.";

    LdW     "ldw"   LoadWord (24, 0)  Unaligned WORDS (0, 0) "Load a word into both lanes of a pair.";
    StW     "stw"   StoreWord (25, 0) Control WORDS (0, 0) "Store lane 0 to a word.";
    LdPU    "ldpu"  LoadPairUnaligned (26, 0)  Unaligned WORDS (0, 0) "Load a pair from any word address.";
    LdQU    "ldqu"  LoadQuadUnaligned (27, 0)  Unaligned WORDS (0, 0) "Load a quad from any word address.";
    StPU    "stpu"  StorePairUnaligned (28, 0) Control WORDS (0, 0) "Store a pair to any word address.";
    StQU    "stqu"  StoreQuadUnaligned (29, 0) Control WORDS (0, 0) "Store a quad to any word address.";
}
