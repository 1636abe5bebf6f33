//! The C header `cpp-bridge/include/denizen/denizen.h` says what `src/abi` says.
//!
//! cbindgen translates the Rust declarations; what is written by hand stands beside this file.
//! `make header` (or this test with `DENIZEN_UPDATE_HEADER=1`) writes the header anew.
#![cfg(not(loom))]

use cbindgen::{Builder, Config, DocumentationStyle, ExportConfig, Language, Style};
use std::{collections::HashMap, error::Error, fmt::Write as _, fs, path::Path};

/// Sources of the interface, in the order in which the header explains it.
const SOURCES: [&str; 3] = ["mod.rs", "element.rs", "table.rs"];
const HEADER: &str = "cpp-bridge/include/denizen/denizen.h";

#[test]
fn the_c_header_says_what_the_rust_types_say() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = generate(root)?;
    let path = root.join(HEADER);
    if std::env::var_os("DENIZEN_UPDATE_HEADER").is_some() {
        fs::write(&path, &header)?;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let first = found.lines().zip(header.lines()).position(|(found, wanted)| found != wanted);
    assert!(
        found == header,
        "{HEADER} differs from src/abi at line {}; run `make header`",
        first.unwrap_or_else(|| found.lines().count().min(header.lines().count())) + 1
    );
    Ok(())
}

fn generate(root: &Path) -> Result<String, Box<dyn Error>> {
    let sources: Vec<String> = SOURCES
        .iter()
        .map(|name| fs::read_to_string(root.join("src/abi").join(name)))
        .collect::<Result<_, _>>()?;
    let names = names(&sources);
    let declarations = documentation(&declarations(&sources, &names)?, &names);
    let declarations = in_source_order(&declarations, &sources, &names);
    let mut header = include_str!("prologue.h").to_owned();
    write!(
        header,
        r#"#ifndef DENIZEN_DENIZEN_H
#define DENIZEN_DENIZEN_H

#include <Python.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {{
#endif

/** Version of denizen that this header comes from. */
#define DENIZEN_VERSION "{}"

/** Name of the capsule that holds the function table. */
#define DENIZEN_CAPSULE_NAME {:?}

/** A registered element type. */
typedef struct denizen_element denizen_element;

{}

{}
#ifdef __cplusplus
}} /* extern "C" */
#endif

#endif /* DENIZEN_DENIZEN_H */
"#,
        env!("CARGO_PKG_VERSION"),
        denizen::abi::CAPSULE_NAME.to_str()?,
        declarations.trim(),
        include_str!("helpers.h"),
    )?;
    Ok(header)
}

/// Rust name -> C name of every public item.
fn names(sources: &[String]) -> HashMap<String, String> {
    let mut names = HashMap::new();
    for line in sources.iter().flat_map(|source| source.lines()) {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let (Some("pub"), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) {
            let c_name = match kind {
                "const" => format!("DENIZEN_{name}"),
                "type" | "struct" => format!("denizen_{}", snake_case(name)),
                _ => continue,
            };
            names.insert(name.to_owned(), c_name);
        }
    }
    names.insert("PyObject".to_owned(), "PyObject".to_owned());
    names.insert("ErrorOut".to_owned(), "denizen_error".to_owned());
    names
}

/// `ElementVTable` -> `element_vtable`.
fn snake_case(name: &str) -> String {
    let name = name.replace("VTable", "Vtable");
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(character.to_lowercase());
    }
    snake
}

/// What cbindgen makes of the declarations.
fn declarations(
    sources: &[String],
    names: &HashMap<String, String>,
) -> Result<String, Box<dyn Error>> {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("abi_for_c.rs");
    // All function pointers may be NULL in C, and cbindgen does not see through aliases of them.
    let text: Vec<String> = sources.iter().map(|source| without_option(source)).collect();
    fs::write(&source, text.join("\n"))?;
    let config = Config {
        language: Language::C,
        style: Style::Both,
        documentation_style: DocumentationStyle::Doxy,
        usize_is_size_t: true,
        no_includes: true,
        line_length: 100,
        tab_width: 4,
        export: ExportConfig {
            include: names.keys().cloned().collect(),
            exclude: ["Element", "PyObject", "CAPSULE_NAME"].map(str::to_owned).into(),
            rename: names.clone(),
            renaming_overrides_prefixing: true,
            ..ExportConfig::default()
        },
        ..Config::default()
    };
    let mut text = Vec::new();
    Builder::new().with_config(config).with_src(&source).generate()?.write(&mut text);
    Ok(String::from_utf8(text)?)
}

/// `Option<SomeFn>` -> `SomeFn`; the `//!` of a file goes, as the files become one.
fn without_option(source: &str) -> String {
    let source: String = source
        .lines()
        .filter(|line| !line.starts_with("//!"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut pieces = source.split("Option<");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('>') {
            Some((name, rest)) if name.ends_with("Fn") => text.extend([name, rest]),
            _ => text.extend(["Option<", piece]),
        }
    }
    text
}

/// Rust's links and names in comments, in the words of C.
fn documentation(text: &str, names: &HashMap<String, String>) -> String {
    text.lines().map(|line| comment_line(line, names) + "\n").collect()
}

fn comment_line(line: &str, names: &HashMap<String, String>) -> String {
    if !line.trim_start().starts_with("* ") {
        return line.to_owned();
    }
    // The brackets of a link are gone before its name is looked up.
    line.replace("[`", "`")
        .replace("`]", "`")
        .split('`')
        .enumerate()
        .map(|(index, piece)| if index % 2 == 1 { code(piece, names) } else { piece.to_owned() })
        .collect()
}

/// A piece of code in a comment: a name that C has too, or as it is.
fn code(piece: &str, names: &HashMap<String, String>) -> String {
    let path = piece.trim_start_matches("super::").trim_start_matches("crate::abi::");
    let (owner, member) = path.split_once("::").unwrap_or((path, ""));
    match names.get(owner) {
        Some(owner) if member.is_empty() => owner.clone(),
        Some(owner) => format!("{owner}.{member}"),
        None => format!("`{piece}`"),
    }
}

/// The declarations in the order in which Rust has them (cbindgen parts constants from their
/// types), with comments of one line on one line.
fn in_source_order(text: &str, sources: &[String], names: &HashMap<String, String>) -> String {
    let source = sources.join("\n");
    let place = |item: &str| {
        let (name, _) = names.iter().find(|(_, c_name)| declares(item, c_name))?;
        ["const", "type", "struct"].iter().find_map(|kind| {
            let declaration = format!("pub {kind} {name}");
            source.match_indices(&declaration).map(|(at, _)| at).find(|at| {
                !source[at + declaration.len()..]
                    .starts_with(|c: char| c.is_alphanumeric() || c == '_')
            })
        })
    };
    let mut items: Vec<String> = Vec::new();
    for block in text.trim().split("\n\n") {
        items.push(one_line_comments(block));
    }
    items.sort_by_cached_key(|item| {
        place(item).unwrap_or_else(|| panic!("an item that is not in src/abi:\n{item}"))
    });
    items.join("\n\n")
}

/// Whether an item, comment included, is the declaration of this name.
fn declares(item: &str, name: &str) -> bool {
    item.lines().any(|line| {
        let line = line.trim_end_matches(['{', ' ']);
        line.strip_prefix("#define ").is_some_and(|rest| rest.split(' ').next() == Some(name))
            || line.strip_prefix("typedef struct ") == Some(name)
            || line.starts_with("typedef ")
                && (line.contains(&format!("(*{name})")) || line.ends_with(&format!(" {name};")))
    })
}

fn one_line_comments(item: &str) -> String {
    let lines: Vec<&str> = item.lines().collect();
    let mut text = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let indent = &lines[index][..lines[index].len() - lines[index].trim_start().len()];
        match lines[index..] {
            [open, only, close, ..] if open.trim() == "/**" && close.trim() == "*/" => {
                text.push(format!("{indent}/** {} */", only.trim().trim_start_matches("* ")));
                index += 3;
            }
            [line, ..] => {
                // A negative number in parentheses, so that it is one in every expression.
                match line.rsplit_once(" -") {
                    Some((define, number)) if define.starts_with("#define") => {
                        text.push(format!("{define} (-{number})"));
                    }
                    _ => text.push(line.to_owned()),
                }
                index += 1;
            }
            [] => break,
        }
    }
    text.join("\n")
}
