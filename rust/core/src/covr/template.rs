//! The fifteen question templates.

use super::named::named;

named! {
    /// A template; its discriminant is its number in files.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    #[repr(u8)]
    pub enum Template {
        VerifyAttr = "verify_attr",
        ChooseAttr = "choose_attr",
        QueryAttr = "query_attr",
        CompareCount = "compare_count",
        Count = "count",
        VerifyCount = "verify_count",
        CountGroupBy = "count_group_by",
        VerifyCountGroupBy = "verify_count_group_by",
        VerifyLogic = "verify_logic",
        VerifyQuantifier = "verify_quantifier",
        VerifyQuantifierAttr = "verify_quantifier_attr",
        VerifySameAttr = "verify_same_attr",
        QueryObject = "query_object",
        ChooseObject = "choose_object",
        ChooseRelation = "choose_relation",
    }
}
