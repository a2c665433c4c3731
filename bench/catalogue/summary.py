"""One campaign of the bench as one line of JSON."""
import json
import sys

row, seed, example, path = sys.argv[1:5]
r = json.load(open(path))
print(json.dumps({
    "example": example, "row": row, "seed": int(seed), "promoted": r["promoted"], "delivered": r["delivered"],
    "interval": r["interval"], "candidate": r["candidate"], "reference_s": r["reference_s"], "sigma_pair": r["sigma_pair"],
    "trials": r["n_trials"], "invalid": sum(t["status"] != "valid" for t in r["trials"]),
    "refusals": len(r["refusals"]), "device_hours": r["cost"]["device_hours"],
}))
