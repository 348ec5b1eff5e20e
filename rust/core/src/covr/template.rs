//! The fifteen question templates.

/// A template; its discriminant is its number in files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Template {
    VerifyAttr,
    ChooseAttr,
    QueryAttr,
    CompareCount,
    Count,
    VerifyCount,
    CountGroupBy,
    VerifyCountGroupBy,
    VerifyLogic,
    VerifyQuantifier,
    VerifyQuantifierAttr,
    VerifySameAttr,
    QueryObject,
    ChooseObject,
    ChooseRelation,
}

impl Template {
    pub const ALL: [Self; 15] = [
        Self::VerifyAttr,
        Self::ChooseAttr,
        Self::QueryAttr,
        Self::CompareCount,
        Self::Count,
        Self::VerifyCount,
        Self::CountGroupBy,
        Self::VerifyCountGroupBy,
        Self::VerifyLogic,
        Self::VerifyQuantifier,
        Self::VerifyQuantifierAttr,
        Self::VerifySameAttr,
        Self::QueryObject,
        Self::ChooseObject,
        Self::ChooseRelation,
    ];

    /// The template's name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::VerifyAttr => "verify_attr",
            Self::ChooseAttr => "choose_attr",
            Self::QueryAttr => "query_attr",
            Self::CompareCount => "compare_count",
            Self::Count => "count",
            Self::VerifyCount => "verify_count",
            Self::CountGroupBy => "count_group_by",
            Self::VerifyCountGroupBy => "verify_count_group_by",
            Self::VerifyLogic => "verify_logic",
            Self::VerifyQuantifier => "verify_quantifier",
            Self::VerifyQuantifierAttr => "verify_quantifier_attr",
            Self::VerifySameAttr => "verify_same_attr",
            Self::QueryObject => "query_object",
            Self::ChooseObject => "choose_object",
            Self::ChooseRelation => "choose_relation",
        }
    }

    /// The template with a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|template| template.name() == name)
    }
}
