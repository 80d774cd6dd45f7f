//! CCSDS 121.0-B adaptive entropy coding: what HDF5 calls szip and GRIB packing 42, as imagecodecs has it for Zarr.
//!
//! <https://public.ccsds.org/Pubs/121x0b3.pdf>
//!
//! A plugin of one file, without the standard library: docs/abi.md, section "Plugins".
#![no_std]
#![no_main]

use core::ptr::{addr_of, addr_of_mut};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

const CORRUPT: i32 = -2;
const INVALID: i32 = -13;
const TOO_SMALL: i32 = -17;

static ABOUT: &[u8] = include_bytes!("about.json");

#[repr(C)]
pub struct Bytes {
    at: *const u8,
    len: u32,
}

extern "C" {
    static __heap_base: u8;
}

static mut TOP: usize = 0;
static mut WHY: &str = "";

fn base() -> usize {
    unsafe { addr_of!(__heap_base) as usize }
}

#[no_mangle]
pub extern "C" fn gp_abi() -> u32 {
    1 << 16
}

#[no_mangle]
pub extern "C" fn gp_alloc(n: u32) -> usize {
    use core::arch::wasm32::{memory_grow, memory_size};
    let at = unsafe { TOP.max(base()) + 15 } & !15;
    let end = match at.checked_add(n as usize) {
        Some(end) => end,
        None => return 0,
    };
    let pages = (end >> 16) + 1;
    if pages > memory_size(0) && memory_grow(0, pages - memory_size(0)) == usize::MAX {
        return 0;
    }
    unsafe { TOP = end };
    at
}

#[no_mangle]
pub extern "C" fn gp_reset() {
    unsafe {
        TOP = base();
        WHY = "";
    }
}

#[no_mangle]
pub unsafe extern "C" fn gp_about(out: *mut Bytes) -> i32 {
    *out = Bytes { at: ABOUT.as_ptr(), len: ABOUT.len() as u32 };
    0
}

#[no_mangle]
pub unsafe extern "C" fn gp_why(out: *mut Bytes) -> i32 {
    let why = *addr_of_mut!(WHY);
    *out = Bytes { at: why.as_ptr(), len: why.len() as u32 };
    0
}

fn fail(code: i32, why: &'static str) -> i32 {
    unsafe { WHY = why };
    code
}

/// What the configuration says, with the names of imagecodecs.
struct Params {
    bits: u32,  // of a sample
    block: u32, // samples
    rsi: u32,   // blocks from one reference sample to the next
    flags: u32,
}

const SIGNED: u32 = 1;
const THREE_BYTES: u32 = 2;
const MSB: u32 = 4;
const PREPROCESS: u32 = 8;
const RESTRICTED: u32 = 16;
const PAD_RSI: u32 = 32;

/// The number that a JSON object has for a name; other where it has none, or null.
fn number(cfg: &[u8], name: &[u8], other: u32) -> u32 {
    for i in 0..cfg.len() {
        let rest = &cfg[i..];
        if !rest.starts_with(name) {
            continue;
        }
        let mut value = None;
        for &c in &rest[name.len()..] {
            match c {
                b'0'..=b'9' => value = Some(value.unwrap_or(0u32).saturating_mul(10).saturating_add((c - b'0') as u32)),
                b' ' | b':' if value.is_none() => {}
                _ => break,
            }
        }
        return value.unwrap_or(other);
    }
    other
}

/// Bits of the input, the most significant one first.
struct Bits<'a> {
    src: &'a [u8],
    at: usize,
    held: u64, // the low count bits
    count: u32,
}

type Take<T> = Option<T>; // None: the input has ended

impl<'a> Bits<'a> {
    #[inline]
    fn fill(&mut self) {
        while self.count <= 56 && self.at < self.src.len() {
            self.held = self.held << 8 | self.src[self.at] as u64;
            self.at += 1;
            self.count += 8;
        }
    }

    #[inline]
    fn take(&mut self, n: u32) -> Take<u32> {
        if self.count < n {
            self.fill();
            if self.count < n {
                return None;
            }
        }
        self.count -= n;
        Some((self.held >> self.count & ((1u64 << n) - 1)) as u32)
    }

    /// How many zeros come before a one, which is passed too.
    #[inline]
    fn unary(&mut self) -> Take<u32> {
        let mut zeros = 0;
        loop {
            if self.count == 0 {
                self.fill();
                if self.count == 0 {
                    return None;
                }
            }
            let n = (self.held << (64 - self.count)).leading_zeros().min(self.count);
            zeros += n;
            self.count -= n;
            if self.count > 0 {
                self.count -= 1;
                return Some(zeros);
            }
        }
    }

    fn align(&mut self) {
        self.count -= self.count % 8;
    }
}

/// Writes samples, undoing the preprocessor.
struct Samples<'a> {
    p: &'a Params,
    dst: &'a mut [u8],
    filled: usize,
    last: i64,
    width: usize,
}

impl<'a> Samples<'a> {
    fn full(&self) -> bool {
        self.filled == self.dst.len()
    }

    /// Adds a sample as it was coded; reference: the first of an interval.
    #[inline]
    fn put(&mut self, d: u32, reference: bool) {
        let bits = self.p.bits;
        let signed = self.p.flags & SIGNED != 0;
        let mut x = d as i64;
        if self.p.flags & PREPROCESS != 0 {
            let (min, max) = if signed { (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1) } else { (0, (1i64 << bits) - 1) };
            if reference {
                if signed {
                    x = x << (64 - bits) >> (64 - bits);
                }
            } else {
                let room = (self.last - min).min(max - self.last);
                x = if x > 2 * room {
                    // All that is left lies on the wider side.
                    if self.last - min < max - self.last { min + x } else { max - x }
                } else if x & 1 == 0 {
                    self.last + x / 2
                } else {
                    self.last - (x + 1) / 2
                };
            }
            self.last = x;
        }
        let n = self.width.min(self.dst.len() - self.filled);
        let out = &mut self.dst[self.filled..self.filled + n];
        let le = (x as u32).to_le_bytes();
        for (i, b) in out.iter_mut().enumerate() {
            *b = if self.p.flags & MSB != 0 { le[self.width - 1 - i] } else { le[i] };
        }
        self.filled += n;
    }
}

fn decode(p: &Params, src: &[u8], dst: &mut [u8]) -> Take<usize> {
    let id_len = match p.bits {
        1..=2 if p.flags & RESTRICTED != 0 => 1,
        3..=4 if p.flags & RESTRICTED != 0 => 2,
        0..=8 => 3,
        9..=16 => 4,
        _ => 5,
    };
    let width = match p.bits {
        0..=8 => 1,
        9..=16 => 2,
        17..=24 if p.flags & THREE_BYTES != 0 => 3,
        _ => 4,
    };
    let whole = dst.len() / width * width;
    let mut bits = Bits { src, at: 0, held: 0, count: 0 };
    let mut out = Samples { p, dst: &mut dst[..whole], filled: 0, last: 0, width };
    let mut high = [0u32; 64]; // of a block
    while !out.full() {
        let mut done = 0; // blocks of this interval
        while done < p.rsi && !out.full() {
            if bits.at == bits.src.len() && bits.count < 8 && bits.held & ((1 << bits.count) - 1) == 0 {
                return Some(out.filled); // the last block, and what fills its byte
            }
            let reference = p.flags & PREPROCESS != 0 && done == 0;
            let first = reference as u32;
            let id = bits.take(id_len)?;
            if id == (1 << id_len) - 1 {
                for i in 0..p.block {
                    let x = bits.take(p.bits)?;
                    if !out.full() {
                        out.put(x, reference && i == 0);
                    }
                }
                done += 1;
                continue;
            }
            let second = id == 0 && bits.take(1)? == 1;
            if reference {
                let x = bits.take(p.bits)?;
                out.put(x, true);
            }
            if id > 0 {
                let k = id - 1;
                for h in &mut high[first as usize..p.block as usize] {
                    *h = bits.unary()?;
                }
                for i in first..p.block {
                    let x = high[i as usize].wrapping_shl(k) + if k > 0 { bits.take(k)? } else { 0 };
                    if !out.full() {
                        out.put(x, false);
                    }
                }
            } else if second {
                // Two samples in one number, by diagonals.
                let mut i = first;
                while i < p.block {
                    let m = bits.unary()? as u64;
                    if m > 90 {
                        return None;
                    }
                    let mut k = 0;
                    while (k + 1) * (k + 2) / 2 <= m {
                        k += 1;
                    }
                    let d = m - k * (k + 1) / 2;
                    for (odd, x) in [(0, k - d), (1, d)] {
                        if i & 1 == odd && !out.full() {
                            out.put(x as u32, false);
                        }
                        i += (i & 1 == odd) as u32;
                    }
                }
            } else {
                let mut blocks = bits.unary()? + 1;
                if blocks == 5 {
                    blocks = (p.rsi - done).min(64 - done % 64); // all that are left
                } else if blocks > 5 {
                    blocks -= 1;
                }
                if blocks > p.rsi - done {
                    return None;
                }
                for _ in first..blocks * p.block {
                    if out.full() {
                        break;
                    }
                    out.put(0, false);
                }
                done += blocks - 1;
            }
            done += 1;
        }
        if p.flags & PAD_RSI != 0 {
            bits.align();
        }
    }
    Some(out.filled)
}

#[no_mangle]
pub unsafe extern "C" fn gp_decode(codec: u32, cfg: *const u8, cfg_len: u32, src: *const u8, n: u32, dst: *mut u8, room: u32) -> i32 {
    if codec != 0 {
        return INVALID;
    }
    let cfg = core::slice::from_raw_parts(cfg, cfg_len as usize);
    let p = Params {
        bits: number(cfg, b"\"bitspersample\"", 8),
        block: number(cfg, b"\"blocksize\"", 8),
        rsi: number(cfg, b"\"rsi\"", 2),
        flags: number(cfg, b"\"flags\"", PREPROCESS),
    };
    if p.bits < 1 || p.bits > 32 || p.block < 8 || p.block > 64 || p.block % 2 != 0 || p.rsi < 1 || p.rsi > 4096 {
        return fail(INVALID, "a configuration that AEC does not have");
    }
    let src = core::slice::from_raw_parts(src, n as usize);
    let dst = core::slice::from_raw_parts_mut(dst, room as usize);
    match decode(&p, src, dst) {
        Some(filled) => filled as i32,
        None if room == 0 => TOO_SMALL,
        None => fail(CORRUPT, "AEC ends early, or within a block that there cannot be"),
    }
}
