//! Reads the `application` of a flow.

use scenario::{AUDIO_INTERVAL, Application, Transport};
use units::Rate;

use crate::diagnostic::Diagnostic;
use crate::file::cursor::{Cursor, Fields};
use crate::file::tables::flow::{AppTable, Media, Objects};

#[derive(Clone, Copy)]
enum Name {
    Bulk,
    Media,
    OnOff,
}

/// Reads a name, or a table with a name. Without the key, the application is bulk. `flow` holds the
/// keys of the flow.
pub(crate) fn read(flow: &Fields<'_>, transport: Transport) -> Result<AppTable, Diagnostic> {
    let Some(cursor) = flow.get("application") else { return Ok(AppTable::Bulk) };
    let name = read_name(&cursor)?;
    if let (Name::Media | Name::OnOff, Some(transfer)) = (name, flow.get("transfer")) {
        let right = "remove one of them; `stop` or `lasts` ends any flow";
        return Err(transfer.problem("`transfer` needs bulk data, but the flow has an `application`", right));
    }
    match name {
        Name::Bulk => {
            cursor.table_or_name(&["name"])?;
            Ok(AppTable::Bulk)
        }
        Name::Media => read_media(&cursor, transport).map(AppTable::Media),
        Name::OnOff => Objects::read(&cursor.table_or_name(&named(Objects::known()))?).map(AppTable::OnOff),
    }
}

fn read_name(cursor: &Cursor<'_>) -> Result<Name, Diagnostic> {
    let names = [("bulk", Name::Bulk), ("media", Name::Media), ("on-off", Name::OnOff)];
    let right = "write \"bulk\", \"media\" or \"on-off\", or { name = \"media\", ... }";
    cursor.name(right)?.word("application", &names)
}

/// Returns these keys and the name.
fn named(keys: &[&'static str]) -> Vec<&'static str> {
    [&["name"], keys].concat()
}

fn read_media(cursor: &Cursor<'_>, transport: Transport) -> Result<Media, Diagnostic> {
    let fields = cursor.table_or_name(&named(Media::known()))?;
    if matches!(transport, Transport::Tcp { .. }) {
        let right = "use transport = \"quic\", whose datagrams are unreliable";
        return Err(cursor.problem("media cannot run over TCP, which retransmits lost packets", right));
    }
    let media = Media::read(&fields)?;
    let Media { min_rate, max_rate, start_rate, .. } = media;
    if min_rate > max_rate {
        let at = if fields.get("max-rate").is_some() { "max-rate" } else { "min-rate" };
        let wrong = format!("min-rate {min_rate} is above max-rate {max_rate}");
        return Err(fields.at(at).problem(wrong, ""));
    }
    if start_rate < min_rate || start_rate > max_rate {
        let right = format!("must be between min-rate {min_rate} and max-rate {max_rate}");
        return Err(fields.at("start-rate").problem(format!("{start_rate} is out of range"), right));
    }
    check_audio(&fields, media.audio, transport).map(|()| media)
}

fn check_audio(fields: &Fields<'_>, audio: Rate, transport: Transport) -> Result<(), Diagnostic> {
    let room = u64::from(transport.payload());
    if audio.bytes_in(AUDIO_INTERVAL) < room {
        return Ok(());
    }
    let right = format!("an audio packet leaves every {AUDIO_INTERVAL} and must hold less than {room} bytes");
    Err(fields.at("audio").problem(format!("an audio rate of {audio} is too high"), right))
}

impl AppTable {
    /// Returns the application of a run.
    pub(crate) fn config(&self) -> Application {
        match self {
            Self::Bulk => Application::Bulk,
            Self::Media(media) => Application::Media(media.config.clone()),
            Self::OnOff(objects) => Application::OnOff(objects.config.clone()),
        }
    }
}
