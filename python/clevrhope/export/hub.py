"""Uploads an export to the Hugging Face Hub, as a dataset that `datasets.load_dataset(name)` finds."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clevrhope.errors import ConfigError, DatasetError
from clevrhope.runtime.extras import check_extra

TABLES = "*.parquet"
"""The files that a new export replaces: any older tables would be read as part of the new one."""


def check_hub(name: str) -> None:
    """Checks, before anything is exported, that the Hub can be reached and knows the user.

    Args:
        name: the repository, such as "user/clevr-hope".

    Raises:
        ConfigError: the name is not of that form, there is no token, or huggingface_hub is missing.
        DatasetError: the Hub cannot be reached, or does not accept the token.
    """
    check_extra("--push needs", "huggingface_hub", "export")
    from huggingface_hub import HfApi, get_token
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(name)
        is_valid = name.count("/") == 1
    except HFValidationError:
        is_valid = False
    if not is_valid:
        raise ConfigError(
            f'--push: "{name}" is not the name of a dataset on the Hub; expected USER/NAME, of letters, '
            "digits, '-', '_' and '.'"
        )
    if get_token() is None:
        raise ConfigError(
            "--push: there is no token of the Hugging Face Hub; set HF_TOKEN, or run: hf auth login"
        )
    with _hub_errors(name, "nothing was exported"):
        HfApi().whoami()


def push(folder: Path, name: str, *, quiet: bool = False) -> str:
    """Uploads an export to the Hub, creating the repository if there is none. Returns its address.

    The repository's earlier tables are removed in the same commit; its history keeps them.

    Args:
        folder: an export in format "parquet".
        name: the repository, such as "user/clevr-hope".
        quiet: whether to hide progress bars.

    Raises:
        DatasetError: the Hub cannot be reached, or does not let the user write there. The export is kept.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]

    if quiet:
        disable_progress_bars()
    api = HfApi()
    remedy = f"the export is in {folder}; upload it with: hf upload {name} {folder} --repo-type dataset"
    with _hub_errors(name, remedy):
        address = api.create_repo(name, repo_type="dataset", exist_ok=True)
        api.upload_folder(
            repo_id=name,
            folder_path=folder,
            repo_type="dataset",
            commit_message="Upload an export of clevrhope",
            delete_patterns=TABLES,
        )
    return str(address)


@contextmanager
def _hub_errors(name: str, remedy: str) -> Iterator[None]:
    """Turns errors of the Hub and of the network into one sentence, which ends with the remedy."""
    # The base of the errors of the Hub's HTTP library, which differs between versions.
    from huggingface_hub.errors import HfHubHTTPError, HTTPError  # type: ignore[attr-defined]

    try:
        yield
    except HfHubHTTPError as error:
        status = error.response.status_code
        reason = {
            401: "the Hub does not accept the token",
            403: "the token's user may not write there",
        }.get(status, f"the Hub answered with an error ({status})")
        raise DatasetError(f"--push {name}: {reason}; {remedy}") from error
    except (HTTPError, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DatasetError(f"--push {name}: the Hub cannot be reached ({reason}); {remedy}") from error
