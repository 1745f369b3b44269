//! Links an image for the machine that its target stands for.

use std::{env, fs, path::PathBuf};

fn main() {
    let target = env::var("TARGET").expect("cargo names the target");
    let machine = match target.split('-').next() {
        Some(arch) if arch.starts_with("thumb") => "mps2-an385.x",
        Some(arch) if arch.starts_with("riscv32") => "virt.x",
        _ => return,
    };
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder"));
    fs::copy(format!("machines/{machine}"), folder.join("memory.x")).expect("the folder can be written");
    // The names of a chip's interrupts, of which this one's go to one handler.
    fs::write(folder.join("device.x"), "").expect("the folder can be written");
    println!("cargo::rerun-if-changed=machines/{machine}");
    println!("cargo::rustc-link-search={}", folder.display());
    println!("cargo::rustc-link-arg=-Tlink.x");
    // Functions with the same instructions are one: 0.7 KB.
    println!("cargo::rustc-link-arg=--icf=all");
}
