use crate::{
    common::data_directory::DataDirectory,
    corpus::{CHINESE, ENGLISH, id, index_of, prepare},
};

/// A third is deleted, so the server rewrites the segment at its first commit.
pub(crate) fn prepare_after_deletes(documents: usize) -> DataDirectory {
    let prepared = prepare(documents);
    let engine = trawl_index::bare::open(&index_of(&prepared)).unwrap();
    let payload = engine.load_metas().unwrap().payload.unwrap();
    let key = engine.schema().get_field("key").unwrap();
    let mut writer: tantivy::IndexWriter = engine.writer_with_num_threads(1, 15_000_000).unwrap();
    // Without it this commit would rewrite the segment.
    writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
    for module in [CHINESE, ENGLISH] {
        for number in (0..documents / 2).step_by(3) {
            let term = format!("{:x}.{module}\0{}", prepared.registered.tenant.id, id(number));
            writer.delete_term(tantivy::Term::from_field_text(key, &term));
        }
    }
    let mut commit = writer.prepare_commit().unwrap();
    commit.set_payload(&payload);
    commit.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    prepared
}
