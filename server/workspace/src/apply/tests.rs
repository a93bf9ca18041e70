//! Each editor's ways with an edit, as measured, played by a scripted one; and files that no editor has open.

mod any_editor;
mod disk;
mod editor;
mod editors;
mod fast_typing;
mod limits;
mod together;
mod turns;
