"""Bad calls of likelihood, outliers and neighbours, in the form of bad_input_rows.ROWS. The model takes one channel of
8x8; {good}/images.npy has 8 such images, {good}/pngs has 3 of 16x16."""

MODEL = "--model {good}/model.safetensors"
IMAGES = "{good}/images.npy"
LIKELIHOOD = (f"likelihood {MODEL} --data {IMAGES} --distributions 3 --chains 2 --pilot 1 --leapfrog 1 "
              "--out {out}/likelihood")
OUTLIERS = f"outliers {MODEL} --data {IMAGES} --against {IMAGES} --noise-levels 0.1 --components 1 -k 1 --out {{out}}/outliers"
NEIGHBOURS = f"neighbours {IMAGES} --data {IMAGES} --no-held-out -k 2 --out {{out}}/neighbours"

FIT = f"score --fit {MODEL} --data {IMAGES} --noise-levels 0.1 --components 1 --out {{out}}/detector.safetensors"

# Arguments that come last win; what a list option or a flag cannot take back has a row of its own.
MEASURE_ROWS = [
    *[(f"likelihood: {words}", f"{LIKELIHOOD} {words}", 2, pattern) for words, pattern in [
        ("--distributions 0", "--distributions: '0'"), ("--distributions many", "--distributions: 'many'"),
        ("--chains 0", "--chains: '0'"), ("--chains 9", "9 reverse chains, but only 8 images"),
        ("--leapfrog 0", "--leapfrog: '0'"), ("--eps 0", "--eps: '0'"), ("--eps nan", "--eps: 'nan'"),
        ("--accept 1", "--accept: '1'"), ("--pilot -1", "--pilot: '-1'"), ("--add-noise -1", "--add-noise: '-1'"),
        ("--direction up", "--direction: 'up'.*forward"), ("--reference flat", "--reference: 'flat'"),
        ("--reference-std -1", "--reference-std: '-1'"), ("--seed -1", "--seed: '-1'"),
        ("--first-beta 0", "--first-beta: '0'"), ("--first-beta 2", "first beta of 2"),
        ("--schedule linear --first-beta 0.1", "--first-beta has no meaning"),
        ("--reference data-mean --reference-mean 0.2", "--reference-mean has no meaning"),
        ("--samples-noise 0.1", "--samples-noise has no meaning without --samples"),
        ("--resume --force", "exclude each other"), ("--save-seconds -1", "--save-seconds: '-1'"),
        ("--batch 0", "--batch: '0'"), ("--engine abacus", "--engine: 'abacus'"),
        ("--device tpu", "tpu"), ("stray", "unexpected argument")]],
    *[(f"likelihood: {words}", f"{LIKELIHOOD} {words}", 1, pattern) for words, pattern in [
        ("--data {bad}/none", "neither a known data set"), ("--data {good}/pngs", "do not fit a model"),
        ("--data {bad}/npy/nan.npy", "image 0|nan"), ("--samples {bad}/none", "neither a known data set"),
        ("--samples {good}/pngs", "do not fit a model"), ("--out {bad}/a_file", "is a file"),
        ("--out {bad}/done", "likelihood.json: exists already.*--force"), ("--resume", "no unfinished run"),
        ("--out {bad}/unfinished", "holds an unfinished run.*--resume"),
        ("--out {bad}/unfinished --resume", "state.safetensors"), ("--out /proc/nowhere", "cannot create the folder"),
        ("--model {bad}/models/nan.safetensors", "nan.safetensors"), ("--model {bad}/none", "no such file")]],
    ("likelihood: schedule not there", LIKELIHOOD.replace("--distributions 3", "--schedule {bad}/none.txt"), 1,
     "none.txt: no such file"),
    ("likelihood: schedule of words", LIKELIHOOD.replace("--distributions 3", "--schedule {bad}/configs/list.json"), 1,
     r"list.json:1: \[1 is no beta"),
    ("likelihood: schedule and number", LIKELIHOOD + " --schedule {bad}/configs/list.json", 2,
     "--distributions has no"),
    *[(f"likelihood: samples alone and {words}", f"likelihood {MODEL} --samples {IMAGES} {words}", 2,
       "has no meaning without --data") for words in ("--add-noise 0.1", "--dequantise", "--split train", "--subset 3")],
    *[(f"likelihood, denoising: {words}", f"likelihood {MODEL} --data {IMAGES} --method denoising --out {{out}}/like {words}",
       2, pattern) for words, pattern in [
        ("--chains 3", "--chains has no meaning for --method denoising"), ("--nodes 1", "--nodes"), ("--draws 0", "--draws"),
        ("--add-noise 900", "noise 900 is not below the highest"), ("--clean", "--clean needs a model trained down to"),
        ("--resume", "--resume has no meaning")]],
    ("likelihood, denoising: no images", f"likelihood {MODEL} --method denoising", 2, "no images to find the likelihood of"),
    ("likelihood: nodes for ais", LIKELIHOOD + " --nodes 4", 2, "--nodes has no meaning for --method ais"),
    ("likelihood: no model", f"likelihood --data {IMAGES}", 2, "no model given"),
    ("likelihood: nothing to start at", f"likelihood {MODEL}", 2, "give --data, or --samples"),
    *[(f"outliers: {words}", f"{OUTLIERS} {words}", 2, pattern) for words, pattern in [
        ("--noise-levels -1", "--noise-levels: '-1'"), ("--noise-levels 0.1,,0.2", "--noise-levels: '0.1,,0.2'"),
        ("--noise-levels x", "--noise-levels: 'x'"), ("--noise-levels 0 --measures errors", "without noise are no features"),
        ("--noise-levels 0.1,nan", "--noise-levels: '0.1,nan'"), ("--noise-levels 0.1,", "--noise-levels: '0.1,'"),
        ("--draws 0", "--draws: '0'"),
        ("--components 0", "--components: '0'"), ("-k 0", "k: '0'"), ("-k 7", "7 neighbours among 4"),
        ("--fit-images 8", "8 of 8 ordinary images"), ("--fit-images -1", "--fit-images: '-1'"),
        ("--fit-train -1", "--fit-train: '-1'"), ("--fit-train 4", "--fit-train: .* has no training part"),
        ("--fit-train 4 --fit-images 4", "exclude each other"), ("--fit-train 4 --split train", "would be compared too"),
        ("--covariance round", "covariance: 'round'"),
        ("--measures colours", "measures: 'colours'"), ("--split both", "split: 'both'")]],
    *[(f"outliers: {words}", f"{OUTLIERS} {words}", 1, pattern) for words, pattern in [
        ("--data {bad}/none", "neither a known data set"), ("--against {bad}/none", "neither a known data set"),
        ("--against {good}/pngs", "do not fit a model"), ("--components 5", "4 rows are too few"),
        ("--out {bad}/done", "outliers.json: exists already.*--force"), ("--out {bad}/a_file", "is a file"),
        ("--out /proc/nowhere", "cannot create the folder"),
        ("--model {bad}/models/text.safetensors", "text.safetensors")]],
    *[(f"score --fit: {words}", f"{FIT} {words}", code, pattern) for words, code, pattern in [
        ("", 1, "8 images are too few"), ("--rate 0", 2, "--rate: '0'"), ("--hold-out 1", 2, "--hold-out: '1'"),
        ("--noise-levels x", 2, "--noise-levels: 'x'"), ("--draws 0", 2, "--draws: '0'"), ("{good}/pngs", 2, "pictures given by place"),
        ("--by heat", 2, "--by: the measure 'heat' does not exist"), ("--by local,", 2, "--by: the measure '' does not exist"),
        ("--detector a", 2, "--detector has no meaning with --fit"), ("--heatmap a", 2, "--heatmap has no meaning with --fit"),
        ("--format csv", 2, "csv has no meaning with --fit"), ("--data {good}/pngs", 1, "do not fit a model"),
        ("--out {bad}/none/a", 1, "its folder does not exist"), ("--out {good}/model.safetensors", 1, "exists already"),
        ("--model {bad}/none", 1, "no such file")]],
    ("score --fit: no images", f"score --fit {MODEL} --out {{out}}/d", 2, "no images given"),
    ("score --fit: no file", f"score --fit {MODEL} --data {IMAGES}", 2, "no file given"),
    ("score: no detector", "score {good}/pngs", 2, "no detector given"),
    *[(f"score: {words}", f"score {words}", code, pattern) for words, code, pattern in [
        ("{good}/pngs --detector {bad}/none", 1, "none: "), ("{good}/pngs --detector {good}/model.safetensors", 1, "no detector"),
        ("{good}/pngs --detector {good}/images.npy", 1, "images.npy"), ("{good}/pngs --detector a --rate 0.1", 2, "without --fit"),
        ("{good}/pngs --detector a --by local", 2, "--by has no meaning without --fit"),
        ("{good}/pngs --detector a --crop 8", 2, "the detector knows how images are fitted"),
        ("{good}/pngs --detector a --format xml", 2, "format: 'xml'")]],
    ("outliers: nothing to compare", f"outliers {MODEL} --data {IMAGES}", 2, "against is missing"),
    ("outliers: no ordinary images", f"outliers {MODEL} --against {IMAGES}", 2, "data is missing"),
    ("outliers: no model", f"outliers --data {IMAGES} --against {IMAGES}", 2, "no model given"),
    *[(f"neighbours: {words}", f"{NEIGHBOURS} {words}", 2, pattern) for words, pattern in [
        ("-k 0", "k: '0'"), ("-k 9", "9 neighbours among 8"), ("--quantile 0", "quantile: '0'"),
        ("--quantile 1", "quantile: 1"), ("--rows 0", "rows: '0'"), ("--threads -1", "threads: '-1'"),
        ("--held-out {good}/pngs", "exclude each other"), ("--held-out-limit 5", "no meaning with --no-held-out"),
        ("--device cpu", "--device without --features"), ("--feature-resize 8", "without --features"),
        ("--classifier mnist --features a.pt", "exclude each other")]],
    *[(f"neighbours: {words}", f"{NEIGHBOURS} {words}", 1, pattern) for words, pattern in [
        ("--data {bad}/none", "neither a known data set"), ("--data {good}/pngs", "cannot be compared"),
        ("--out {bad}/done", "neighbours.json: exists already.*--force"), ("--out {bad}/a_file", "is a file"),
        ("--classifier nothing", "nothing: no such classifier"), ("--features {bad}/none.pt", "none.pt: no such file"),
        ("--classifier mnist", "the classifier takes images"), ("--out /proc/nowhere", "cannot create the folder")]],
    ("neighbours: no samples", f"neighbours --data {IMAGES}", 2, "missing"),
    ("neighbours: samples not there", f"neighbours {{bad}}/none --data {IMAGES}", 1, "neither a known data set"),
    ("neighbours: no test images", f"neighbours {IMAGES} --data {IMAGES}", 2, "no test images of its own"),
]
