# Writes OUTPUT: a table of every recipe's name and text. Run as a script by nascent_recipes().
set(text "#include \"nascent/core/recipes.h\"\n\nnamespace nascent::embedded {\n\nconst std::vector<Recipe>& recipes() {\n  static const std::vector<Recipe> all = {\n")
foreach(file IN LISTS RECIPES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} body)
  string(APPEND text "      {\"${name}\", R\"toml(${body})toml\"},\n")
endforeach()
string(APPEND text "  };\n  return all;\n}\n\n}  // namespace nascent::embedded\n")
file(WRITE ${OUTPUT} "${text}")
