// Text forms of genotypes, by name. A new one is one new file with a NASCENT_REGISTER(GenotypeForm, ...) at its foot.
#pragma once

#include <memory>
#include <string>

#include "nascent/core/registry.h"
#include "nascent/space/genotype.h"

namespace nascent {

class GenotypeForm {
 public:
  static std::string kind() { return "genotype form"; }
  using Registry = nascent::Registry<GenotypeForm, std::unique_ptr<GenotypeForm>()>;

  virtual ~GenotypeForm() = default;
  // Why this form cannot express the genotype; "" where it can.
  virtual std::string obstacle(const Genotype& genotype) const = 0;
  virtual std::string write(const Genotype& genotype) const = 0;
  // Whether text that begins like this is meant to be in this form. At most one form says yes.
  virtual bool recognises(const std::string& text) const = 0;
  // `space` "" leaves the choice to the form.
  virtual Genotype read(const std::string& text, const std::string& space) const = 0;
};

// An operation that is not registered, as the end of a message: "'x' is not a known operation. Did you mean ...? Known:
// ..."; "" if it is.
std::string unknown_operation(const std::string& op);

// Larger genotypes than this are taken for mistakes.
constexpr int kMaxNodes = 1000;

}  // namespace nascent
