//! How many of what a server found are not shown: they lie where the model may not look, or can't be read. That is said
//! always, and above all where there is nothing else: a bare "none" would be taken for the truth.

/// The line below an answer, for what lies in other files.
pub fn left_out(number: usize) -> String {
    match number {
        0 => String::new(),
        1 => "[1 more in a file that can't be read or is hidden]\n".to_owned(),
        many => format!("[{many} more in files that can't be read or are hidden]\n"),
    }
}

/// The same for what lies in no other file: then it is the server's answer that can't be read.
pub fn broken(number: usize) -> String {
    match number {
        0 => String::new(),
        many => format!("[{many} more that can't be read]\n"),
    }
}

/// What a server found, where nothing of it is shown.
pub fn none(number: usize) -> &'static str {
    match number {
        0 => "found none",
        _ => "found none that may be shown",
    }
}
