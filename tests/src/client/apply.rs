//! `workspace/applyEdit` as each editor treats it: looked at strictly, then refused, skipped or applied, echoed and
//! answered in the order of the client's ways, with the user's planned typing in between. Only text edits are played.

use std::ops;

use serde_json::{Value, json};

use super::document::Document;
use super::state::{Moment, State};
use super::text::{self, Encoding, Range};
use super::ways::{Echo, Stale};

/// The edits to one document.
struct DocumentEdit {
    uri: String,
    version: Option<i64>,
    pieces: Vec<(Range, String)>,
}

/// Plays the request through, its answer included.
pub fn apply_edit(state: &mut State, id: &Value, params: &Value) {
    let edit = match parse(state, &params["edit"]) {
        Ok(edit) => edit,
        Err(problem) => {
            state.problem(problem.clone());
            state.reply(id, Ok(json!({"applied": false, "failureReason": problem})));
            return;
        }
    };
    if let Err(problem) = look(state, &edit) {
        state.problem(problem);
    }
    type_planned(state, &edit.uri, Moment::BeforeApply);
    let (ways, encoding) = (state.ways.clone(), state.encoding);
    let document = state.document(&edit.uri);
    let version = edit
        .version
        .filter(|version| *version != 0 || ways.checks_version_zero);
    let stale = match ways.stale {
        Stale::SkipAndLie => version.is_some_and(|version| document.version > version),
        Stale::Apply => false,
        _ => version.is_some_and(|version| document.version != version),
    };
    if stale {
        let answer = refuse(ways.stale, document, version);
        state.reply(id, answer);
        return;
    }
    let pieces = edit.pieces.into_iter();
    let place = |(range, new): (Range, String)| (clamped(&document.text, range, encoding), new);
    let pieces = pieces.map(place).collect::<Vec<_>>();
    document.change(pieces, &ways);
    echo(state, id, &edit.uri);
}

/// The echo and the answer of an edit that was applied.
fn echo(state: &mut State, id: &Value, uri: &str) {
    let applied = || Ok(json!({"applied": true}));
    let echo = state.ways.echo;
    if echo == Echo::BeforeReply {
        type_planned(state, uri, Moment::Merged);
        state.tell(uri);
        type_planned(state, uri, Moment::BeforeReply);
        state.reply(id, applied());
    } else {
        type_planned(state, uri, Moment::BeforeReply);
        state.reply(id, applied());
        type_planned(state, uri, Moment::Merged);
        if let Echo::Late(wait) = echo {
            state.tell_after(uri, wait);
        } else {
            state.tell(uri);
        }
    }
    type_planned(state, uri, Moment::AfterReply);
}

/// Types what was planned for this moment. What is to be merged is not told yet.
fn type_planned(state: &mut State, uri: &str, moment: Moment) {
    let due = |plan: &super::state::Plan| plan.uri == uri && plan.moment == moment;
    let (now, rest) = std::mem::take(&mut state.plans).into_iter().partition(due);
    state.plans = rest;
    let now: Vec<super::state::Plan> = now;
    for plan in now {
        if moment == Moment::Merged {
            let ways = state.ways.clone();
            let document = state.document(uri);
            let bytes = document.find(&plan.spot);
            document.change(vec![(bytes, plan.text)], &ways);
        } else {
            state.type_in(uri, &plan.spot, &plan.text);
        }
    }
}

fn refuse(stale: Stale, document: &Document, wanted: Option<i64>) -> Result<Value, (i64, String)> {
    let reason = format!(
        "{} has version {}, the edit is for {}",
        document.uri,
        document.version,
        wanted.unwrap_or_default()
    );
    match stale {
        Stale::Refuse | Stale::Apply => Ok(json!({"applied": false})),
        Stale::RefuseWithReason => {
            Ok(json!({"applied": false, "failureReason": reason, "failedChange": 0}))
        }
        Stale::Error => Err((-32603, reason)),
        Stale::SkipAndLie => Ok(json!({"applied": true})),
    }
}

/// Reads a workspace edit, as strictly as the client's capabilities say.
fn parse(state: &State, edit: &Value) -> Result<DocumentEdit, String> {
    let list = match (&edit["documentChanges"], &edit["changes"]) {
        (Value::Array(list), Value::Null) => {
            let said = state.can("/workspace/workspaceEdit/documentChanges");
            if !said && !state.ways.takes_document_changes {
                return Err("documentChanges for a client that does not know them".into());
            }
            list.clone()
        }
        (Value::Null, Value::Object(changes)) => changes
            .iter()
            .map(|(uri, edits)| json!({"textDocument": {"uri": uri, "version": null}, "edits": edits}))
            .collect(),
        _ => return Err(format!("neither `documentChanges` nor `changes`, or both: {edit}")),
    };
    let [change] = list.as_slice() else {
        return Err(format!(
            "{} documents in one edit; one is the rule",
            list.len()
        ));
    };
    if !change["kind"].is_null() {
        return Err(format!(
            "a resource operation, which was not asked for: {change}"
        ));
    }
    let named = &change["textDocument"];
    if named.get("version").is_none() {
        return Err(format!(
            "a document without `version` (null is the way to say none): {named}"
        ));
    }
    let mut pieces = Vec::new();
    for piece in change["edits"].as_array().ok_or("`edits` is no list")? {
        if let Some(note) = piece.get("annotationId") {
            let key = note.as_str().unwrap_or_default();
            if edit["changeAnnotations"].get(key).is_none()
                || state
                    .capability("/workspace/workspaceEdit/changeAnnotationSupport")
                    .is_none()
            {
                return Err(format!(
                    "an annotation that is not there or not known: {piece}"
                ));
            }
        }
        let range = serde_json::from_value(piece["range"].clone())
            .map_err(|why| format!("{why}: {piece}"))?;
        let new = piece["newText"]
            .as_str()
            .ok_or_else(|| format!("no newText: {piece}"))?;
        pieces.push((range, new.to_owned()));
    }
    if pieces.is_empty() {
        return Err("an edit that changes nothing".into());
    }
    let uri = named["uri"].as_str().unwrap_or_default().to_owned();
    if !state.documents.contains_key(&uri) {
        return Err(format!(
            "an edit to {uri}, which is not open under that spelling"
        ));
    }
    Ok(DocumentEdit {
        uri,
        version: named["version"].as_i64(),
        pieces,
    })
}

/// Every position, held against the text that the edit says it is for.
fn look(state: &mut State, edit: &DocumentEdit) -> Result<(), String> {
    let encoding = state.encoding;
    let document = state.document(&edit.uri);
    let Some(version) = edit.version else {
        // Without a version it is for one of the texts that the server was told.
        let mut known = document.known();
        return if known.any(|text| places(text, &edit.pieces, encoding).is_ok()) {
            Ok(())
        } else {
            Err(format!(
                "the edit fits no text that was ever sent: {:?}",
                edit.pieces
            ))
        };
    };
    let Some(text) = document.at_version(version) else {
        return Err(format!(
            "an edit for version {version} of {}, which was never sent (the last: {})",
            edit.uri,
            document.sent_version()
        ));
    };
    places(text, &edit.pieces, encoding).map(drop)
}

/// The bytes of the pieces: exact places that do not overlap.
fn places(
    text: &str,
    pieces: &[(Range, String)],
    encoding: Encoding,
) -> Result<Vec<ops::Range<usize>>, String> {
    let bytes = pieces
        .iter()
        .map(|(range, _)| text::bytes(text, *range, encoding));
    let mut bytes = bytes.collect::<Result<Vec<_>, _>>()?;
    bytes.sort_by_key(|range| (range.start, range.end));
    match bytes.windows(2).find(|pair| pair[0].end > pair[1].start) {
        Some(pair) => Err(format!(
            "edits that overlap: {:?} and {:?}",
            pair[0], pair[1]
        )),
        None => Ok(bytes),
    }
}

/// As editors read a range that their newer text no longer has: the nearest place before it.
fn clamped(text: &str, range: Range, encoding: Encoding) -> ops::Range<usize> {
    let clamp = |place: text::Position| {
        let lines = text::lines(text);
        let Some((start, line)) = lines.get(place.line as usize) else {
            return text.len();
        };
        (0..=place.character)
            .rev()
            .find_map(|character| {
                text::offset(text, text::Position { character, ..place }, encoding).ok()
            })
            .unwrap_or(start + line.len())
    };
    let start = clamp(range.start);
    start..clamp(range.end).max(start)
}
